"""Arithmetic on shapes: from NumPy and traced calls to Python's own integers."""
