"""Operators that find things in images: boxes, regions of interest, and which of them to keep."""
