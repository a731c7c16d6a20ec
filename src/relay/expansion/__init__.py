"""Expansion: every derivative and `vmap` replaced by the function that it stands for."""
