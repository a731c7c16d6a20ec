"""Relay to machine code through LLVM: whole programs, control flow included."""
