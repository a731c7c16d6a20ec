"""Batching: programs of one example as programs of many (`vmap`)."""
