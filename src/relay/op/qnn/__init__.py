"""Operators on quantised tensors: integers `q` that stand for the numbers `(q - zero_point) * scale`."""
