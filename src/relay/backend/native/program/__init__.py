"""Whole programs to LLVM IR: definitions, control flow, data types, closures and groups of operators."""
