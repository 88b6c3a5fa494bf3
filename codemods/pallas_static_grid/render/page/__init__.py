"""The parts of the HTML report: escaping, diffs, launches, the data of the patch, style, script."""
