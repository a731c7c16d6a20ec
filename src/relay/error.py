"""Errors, by the module name that people know."""

from relay.diagnostic import Diagnostic, RelayError

DiagnosticError = RelayError
TVMError = RelayError

__all__ = ["Diagnostic", "DiagnosticError", "RelayError", "TVMError"]
