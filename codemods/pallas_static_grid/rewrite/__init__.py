"""Edits of source text and the small pieces of syntax that transforms build."""
