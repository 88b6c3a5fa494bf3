"""From a grid function to the tuple that it returns."""
