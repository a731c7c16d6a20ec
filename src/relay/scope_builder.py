"""`ScopeBuilder`, by the module name that people know."""

from relay.ir.scope_builder import ScopeBuilder

__all__ = ["ScopeBuilder"]
