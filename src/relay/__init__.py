"""Relay: a small, typed, functional and differentiable language for machine learning.

The public names, as people know them.  `import relay` loads next to nothing: each name brings in
the module that defines it when it is first used.
"""

from importlib import import_module

from relay.ir import hooks, import_home
from relay.version import VERSION

__version__ = VERSION

_NAMES = {
    "relay.diagnostic": "Diagnostic Note RelayError Report Source SourceName Span",
    "relay.ir.type": "ANY BOOL UNIT Any Dim DimCall DimExpr FuncType GlobalTypeVar IncompleteType Kind"
    " RefType Shape TensorType TupleType Type TypeCall TypeKind TypeRelation TypeVar scalar_type",
    "relay.ir.expr": "Call Clause Constant Constructor Function GlobalVar Grad If Let LetRec Match Op Pattern"
    " RefCreate RefRead RefWrite RelayExpr TempExpr Tuple TupleGetItem TupleWrapper VMap Var replace",
    "relay.ir.pattern": "PatternAs PatternConstructor PatternLiteral PatternOr PatternTuple PatternVar"
    " PatternWildcard",
    "relay.ir.module": "IRModule Import TypeData",
    "relay.ir.walk": "fold post_order rewrite",
    "relay.ir.functor": "ExprFunctor ExprMutator ExprVisitor",
    "relay.ir.type_functor": "TypeFunctor TypeMutator TypeVisitor",
    "relay.ir.bind": "bind substitute",
    "relay.ir.vars": "all_vars bound_vars free_vars",
    "relay.ir.build": "const var",
    "relay.ir.scope_builder": "ScopeBuilder",
    "relay.ir.equal": "assert_structural_equal structural_equal structural_hash",
    "relay.op.base": "Operator",
    "relay.op.column": "Column",
    "relay.op.op_attributes": "register_op_attr",
    "relay.op.registry": "operator",
    "relay.op.relation": "relation",
    "relay.text.api": "astext fromtext parse parse_expr parse_type",
    "relay.text.param_dict": "load_param_dict save_param_dict",
    "relay.text.weights": "load save",
    "relay.text.json_format": "load_json save_json",
    "relay.typecheck.infer": "infer infer_expr",
    "relay.typecheck.check": "check",
    "relay.typecheck.query": "Types type_of",
    "relay.analysis.kinds": "free_type_vars bound_type_vars all_type_vars",
    "relay.interpreter.value": "Closure ConstructorValue RefValue",
    "relay.driver.compilation": "build compile load_module optimize",
    "relay.driver.c_library": "write_library",
    "relay.driver.executor": "create_executor run",
    "relay.backend.xla.processes": "distributed",
    "relay.notebook.extension": "load_ipython_extension unload_ipython_extension",
    "relay.tracing.function": "function",
    "relay.tracing.branches": "cond switch",
    "relay.tracing.loops": "fori while_loop",
    "relay.tracing.scans": "scan",
    "relay.tracing.batching": "vmap",
    "relay.tracing.derivatives": "checkpoint custom_vjp grad gradient hessian hvp jacobian jvp stop_gradient"
    " value_and_grad vjp",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_RENAMED = {
    "Expr": ("relay.ir.expr", "RelayExpr"),
    "DiagnosticError": ("relay.diagnostic", "RelayError"),
    "TVMError": ("relay.diagnostic", "RelayError"),
    "bind_params_by_name": ("relay.ir.bind", "bind_params_by_name"),
}
_SUBMODULES = (
    "adt", "analysis", "autodiff", "backend", "base", "build_module", "cli", "data_dep_optimization",
    "dataflow_pattern", "diagnostic",
    "driver", "error", "expr", "frontend", "instrument", "interpreter", "ir", "loops", "models", "numpy",
    "op", "optim", "prelude", "qnn", "quantize", "runtime", "scope_builder", "testing", "text", "training",
    "transform", "ty", "typecheck", "vm",
)  # fmt: skip

__all__ = ["__version__", *_HOME, *_RENAMED, *_SUBMODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    """A public name, an operator's builder (`relay.add`), or a family of them (`relay.nn`), on first use."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _SUBMODULES:
        return import_home(f"relay.{name}")
    module, attribute = _RENAMED.get(name) or (_HOME.get(name, "relay.op"), name)
    home = import_home(module)
    try:
        value = getattr(home, attribute)
    except AttributeError:
        said = import_module("relay.op.namespace").missing_attribute("relay", name, __dir__())
        raise AttributeError(said) from None
    if not isinstance(value, type):  # a class needs no operators to be imported
        value = import_module("relay.op.namespace").public_function(value, name)
        setattr(home, attribute, value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Everything public, the operators' builders included."""
    return sorted({*globals(), *__all__, *import_module("relay.op.namespace").root_names()})


def _fill_on_demand(slot: str, module: str) -> None:
    """Let the first use of a hook import the module that fills it."""

    def first_use(*args: object, **kwargs: object) -> object:
        import_module(module)
        filled = getattr(hooks, slot)
        assert filled is not first_use, f"{module} must fill {slot}"
        return filled(*args, **kwargs)

    setattr(hooks, slot, first_use)


for _slot, _module in {
    "type_text": "relay.text.printer",
    "type_repr": "relay.text.printer",
    "expr_text": "relay.text.printer",
    "module_text": "relay.text.printer",
    "import_standard": "relay.text.api",
    "pickle_type": "relay.text.pickling",
    "pickle_node": "relay.text.pickling",
    "dim_arithmetic": "relay.ir.dim",
    "dim_rebuild": "relay.ir.dim",
    "canonical_func_type": "relay.ir.subst",
    "call": "relay.ir.call",
    "project": "relay.ir.call",
    "index": "relay.tracing.indexing",
    "binary": "relay.op",
    "operator_instance": "relay.op",
    "op_attributes": "relay.op.op_attributes",
    "infer": "relay.typecheck.infer",
    "checked_type": "relay.typecheck.query",
    "annotated_types": "relay.typecheck.query",
    "evaluate": "relay.interpreter.machine",
    "apply": "relay.interpreter.machine",
    "display": "relay.text.notebook",
    "view": "relay.picture.view",
}.items():
    _fill_on_demand(_slot, _module)
