"""LLVM IR as text, and machine code made of it."""
