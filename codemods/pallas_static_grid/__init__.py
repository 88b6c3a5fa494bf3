"""Rewrites dynamic JAX Pallas grids to static grids with padding and masks."""

__version__ = "0.1.0"
