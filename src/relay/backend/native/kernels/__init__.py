"""Kernels: machine code for what loops over single elements would be slow at."""
