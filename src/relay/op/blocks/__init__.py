"""Weights in blocks and groups of small numbers: their formats, and operators that read them."""
