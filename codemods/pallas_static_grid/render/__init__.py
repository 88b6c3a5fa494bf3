"""Reports and patches: pure functions from reports to text."""
