"""Operators of linear algebra: factorisations of matrices, and what follows from them."""
