"""The reference semantics: expressions to values, on NumPy and an explicit stack."""
