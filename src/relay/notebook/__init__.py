"""Relay in notebooks: `%load_ext relay`."""
