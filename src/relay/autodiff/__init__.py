"""Differentiation: `grad`, `vjp` and `jvp` expanded into ordinary Relay."""
