"""The names of the language as people know them.

Each is there and takes its arguments in the order they know, or is listed as absent in `docs/names.md`.
"""

import re
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import pytest

import relay
from known_names import KNOWN
from support import ROOT

SIGNATURES = """
relay.var(name_hint, type_annotation, shape, dtype, span)
relay.const(value, dtype, span)
relay.bind(expr, binds)
relay.scalar_type(dtype)
relay.Function(params, body, ret_type, type_params, attrs)
relay.Call(op, args, attrs, type_args)
relay.Let(var, value, body)
relay.If(cond, true_branch, false_branch)
relay.Tuple(fields)
relay.TupleGetItem(tuple_value, index)
relay.TupleWrapper(tuple_value, size)
relay.Var(name_hint, type_annotation)
relay.GlobalVar(name_hint)
relay.Constant(value)
relay.Constructor(name_hint, inputs, belong_to)
relay.Match(data, clauses, complete)
relay.Clause(lhs, rhs)
relay.PatternWildcard()
relay.PatternVar(var)
relay.PatternConstructor(constructor, patterns)
relay.PatternTuple(patterns)
relay.RefCreate(value)
relay.RefRead(ref)
relay.RefWrite(ref, value)
relay.TensorType(shape, dtype)
relay.TupleType(fields)
relay.FuncType(arg_types, ret_type, type_params, type_constraints)
relay.RefType(value)
relay.TypeVar(name, kind)
relay.GlobalTypeVar(name, kind)
relay.IncompleteType(kind)
relay.TypeCall(func, args)
relay.TypeData(header, type_vars, constructors)
relay.IRModule(functions, type_definitions)
relay.IRModule.from_expr(expr, functions, type_defs)
relay.IRModule.get_global_var(self, name)
relay.IRModule.get_global_type_var(self, name)
relay.IRModule.get_type(self, name)
relay.IRModule.update(self, other)
relay.IRModule.update_func(self, var, func)
relay.IRModule.import_from_std(self, name)
relay.Function.with_attr(self, name, value)
relay.ScopeBuilder.let(self, var, value)
relay.ScopeBuilder.if_scope(self, cond)
relay.ScopeBuilder.else_scope(self)
relay.ScopeBuilder.ret(self, value)
relay.ScopeBuilder.type_of(self, expr)
relay.ScopeBuilder.get(self)
relay.parse(source, source_name, init_module, init_meta_table)
relay.parse_expr(source)
relay.fromtext(data, source_name)
relay.create_executor(kind, mod, device, target, params)
relay.optimize(mod, target, params)
relay.build_module.create_executor(kind, mod, device, target, params)
relay.build_module.bind_params_by_name(func, params)
relay.loops.while_loop(cond, loop_vars, loop_bodies)
relay.prelude.Prelude(mod)
relay.Span(source, start, end, column, end_column)
relay.SourceName(name)
relay.TupleWrapper.astuple(self)
relay.ir.structural_equal(lhs, rhs, map_free_vars)
relay.ir.assert_structural_equal(lhs, rhs, map_free_vars)
relay.ir.structural_hash(node, map_free_vars)
relay.ir.save_json(node)
relay.ir.load_json(text)
relay.ir.supply.NameSupply(prefix)
relay.ir.supply.NameSupply.fresh_name(self, name, add_prefix)
relay.ir.supply.NameSupply.reserve_name(self, name, add_prefix)
relay.ir.supply.NameSupply.contains_name(self, name, add_prefix)
relay.ir.supply.GlobalVarSupply(value)
relay.ir.supply.GlobalVarSupply.fresh_global(self, name, add_prefix)
relay.ir.supply.GlobalVarSupply.unique_global_for(self, name, add_prefix)
relay.ir.supply.GlobalVarSupply.reserve_global(self, var, allow_conflict)
relay.analysis.post_order_visit(expr, fvisit)
relay.analysis.well_formed(expr)
relay.analysis.check_kind(t, mod)
relay.analysis.check_constant(expr)
relay.analysis.check_basic_block_normal_form(expr)
relay.analysis.free_vars(expr)
relay.analysis.bound_vars(expr)
relay.analysis.all_vars(expr)
relay.analysis.free_type_vars(expr, mod)
relay.analysis.bound_type_vars(expr, mod)
relay.analysis.all_type_vars(expr, mod)
relay.analysis.all_dtypes(expr)
relay.analysis.get_total_mac_number(expr)
relay.analysis.unmatched_cases(match, mod)
relay.analysis.detect_feature(a, b)
relay.analysis.list_op_freqs(mod)
relay.analysis.search_fc_transpose(expr)
relay.analysis.extract_intermdeiate_expr(mod, expr_id)
relay.analysis.count_layers(expr, valid_ops)
relay.analysis.CallGraph(module)
relay.analysis.CallGraph.ref_count(self, var)
relay.analysis.CallGraph.global_call_count(self, var)
relay.analysis.CallGraph.is_recursive(self, var)
relay.analysis.CallGraph.print_var(self, var)
"""
"""What is called, with the parameters that may be given by position."""

NAMES = {
    "relay": "Expr Any TempExpr Op TypeKind TVMError DiagnosticError astext ExprFunctor ExprVisitor"
    " ExprMutator TypeFunctor TypeVisitor TypeMutator",
    "relay.TypeKind": "Type ShapeVar BaseType Constraint AdtHandle",
    "relay.analysis.Feature": "fVar fGlobalVar fConstant fTuple fTupleGetItem fFunction fOp fCall fLet fIf"
    " fRefCreate fRefRead fRefWrite fConstructor fMatch fGraph",
    "relay.ExprVisitor": "visit visit_function visit_let visit_call visit_var visit_if visit_tuple"
    " visit_tuple_getitem visit_global_var visit_op visit_constant visit_ref_create visit_ref_write"
    " visit_ref_read visit_constructor visit_match",
    "relay.TypeVisitor": "visit visit_type_var visit_incomplete_type visit_tensor_type visit_func_type"
    " visit_tuple_type visit_type_relation visit_ref_type visit_global_type_var visit_type_call"
    " visit_type_data",
    "relay.Expr": "astype checked_type span same_as astext",
    "relay.IRModule": "functions type_definitions get_attr with_attr type_of evaluate copy",
    "relay.TensorType": "shape dtype concrete_shape same_as",
    "relay.FuncType": "arg_types ret_type type_params type_constraints",
    "relay.Span": "line column end_line end_column source_name",
    "relay.adt": "Match TypeData",
    "relay.backend.interpreter": "ConstructorValue RefValue",
    "relay.base": "Span",
    "relay.error": "DiagnosticError TVMError",
    "relay.expr": "Call If Let RefCreate RefRead RefWrite Tuple TupleGetItem TupleWrapper const",
    "relay.ir": "FuncType GlobalTypeVar GlobalVar IRModule IncompleteType Op TypeVar",
    "relay.op": "const get",
    "relay.op.op": "get",
    "relay.scope_builder": "ScopeBuilder",
    "relay.ty": "FuncType GlobalTypeVar IncompleteType RefType TensorType TupleType TypeCall TypeRelation"
    " TypeVar",
}
LIBRARY = (
    "id compose flip hd tl nth length update map foldl foldr foldr1 sum concat filter zip rev map_accumr"
    " map_accuml unfoldr unfoldl tmap size iterate nat_double nat_add nat_nth nat_update nat_iterate"
    " tensor_take tensor_concatenate tensor_expand_dims tensor_array_read tensor_array_write"
    " tensor_array_unstack tensor_array_scatter tensor_array_split tensor_array_concat tensor_array_stack"
    " tensor_array_gather cons nil some none rose z s l optional tree nat"
)


def absent() -> list[str]:
    """The names in the first column of the last table of the page."""
    table = (ROOT / "docs" / "names.md").read_text().partition("## Omitted")[2]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([\w.]+)`", row)]


def found(path: str) -> Any:
    """What a dotted path names: attributes, and modules that are imported as they are asked for."""
    here: Any = relay
    names = path.split(".")
    for i, name in enumerate(names[1:], start=2):
        if not hasattr(here, name):
            import_module(".".join(names[:i]))
        here = getattr(here, name)
    return here


@pytest.mark.parametrize("line", SIGNATURES.split("\n")[1:-1])
def test_arguments_come_in_the_order_that_people_know(line: str) -> None:
    name, known = re.fullmatch(r"([\w.]+)\((.*)\)", line).groups()  # type: ignore[union-attr]
    parameters = signature(found(name)).parameters.values()
    here = [p.name for p in parameters if p.kind is not Parameter.KEYWORD_ONLY]
    wanted = known.split(", ") if known else []
    assert here[: len(wanted)] == wanted
    required = [p for p in parameters if p.default is Parameter.empty and p.kind is not Parameter.VAR_KEYWORD]
    assert len(required) <= len(wanted)


@pytest.mark.parametrize(
    ("home", "name"), [(h, name) for h, names in NAMES.items() for name in names.split()]
)
def test_name_is_there(home: str, name: str) -> None:
    assert found(f"{home}.{name}") is not None


def test_names_are_those_of_the_package_and_not_what_it_imports_for_itself() -> None:
    for name, home in relay._HOME.items():
        assert getattr(relay, name) is getattr(import_module(home), name)
    assert relay.TensorType((relay.Any(), 3), "int8").shape[0] is relay.ANY


def test_the_library_is_there() -> None:
    prelude = relay.prelude.Prelude()
    assert [name for name in LIBRARY.split() if not hasattr(prelude, name)] == []


@pytest.mark.parametrize("name", absent())
def test_what_is_said_to_be_absent_is(name: str) -> None:
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        found(name)


@pytest.mark.parametrize("home", KNOWN)
def test_names_that_programs_use_are_there_or_said_to_be_absent(home: str) -> None:
    missing = set(absent())
    for name in KNOWN[home].split():
        path = f"{home}.{name}".split(".")
        if not missing.intersection([".".join(path[:i]) for i in range(2, len(path) + 1)]):
            assert found(".".join(path)) is not None


def test_something_is_said_about_absent_names() -> None:
    assert len(absent()) >= 10
