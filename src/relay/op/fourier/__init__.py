"""Fourier transforms: operators, and the machine code that computes them."""
