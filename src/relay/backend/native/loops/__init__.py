"""Loop nests over tensors, and how they are vectorized and run in parallel."""
