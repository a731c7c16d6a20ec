"""Compiled programs as libraries of C, which need neither Python nor LLVM."""
