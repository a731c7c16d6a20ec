"""Relay to XLA through JAX: whole programs for CPUs, GPUs and TPUs."""
