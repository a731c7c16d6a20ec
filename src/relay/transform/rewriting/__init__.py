"""The engine: what passes are made of, and what registers, runs and watches them."""
