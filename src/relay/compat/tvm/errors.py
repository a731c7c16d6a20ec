"""Errors by the names that scripts catch; all are what Relay raises."""

from relay.diagnostic import RelayError

__all__ = [
    "DiagnosticError", "InternalError", "OpAttributeInvalid", "OpAttributeRequired",
    "OpAttributeUnImplemented", "OpError", "OpNotImplemented", "RPCError", "TVMError",
]  # fmt: skip

TVMError = DiagnosticError = InternalError = RPCError = RelayError
OpError = OpNotImplemented = OpAttributeInvalid = OpAttributeRequired = OpAttributeUnImplemented = RelayError
