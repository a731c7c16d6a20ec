"""Functions with weights that are stored in another way."""
