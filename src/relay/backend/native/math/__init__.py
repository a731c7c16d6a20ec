"""Functions of floats as straight code."""
