"""Running passes: one, several in turn, or as a line of text says."""

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, NoReturn, Union, get_args, get_origin

from relay.diagnostic import RelayError, Source, Span, did_you_mean, fail
from relay.ir.module import IRModule, expect_module
from relay.transform.rewriting.context import PassContext, PassInfo
from relay.transform.rewriting.registry import Rule, find
from relay.typecheck.infer import remember_module


class Pass:
    """Something that makes a module of a module: `FuseOps()(mod)`."""

    def __init__(self, info: PassInfo, run: Callable[[IRModule], IRModule]) -> None:
        """`run` does it; `info` says what it is called."""
        self.info = info
        self._run = run

    def __call__(self, mod: IRModule) -> IRModule:
        """The module that comes out."""
        watchers = PassContext.current().instruments
        return self.run(mod) if all(w.should_run(mod, self.info) for w in watchers) else mod

    def run(self, mod: IRModule) -> IRModule:
        """The module that comes out, where the pass is indispensable: instruments watch, and keep it from
        nothing.
        """
        watchers = PassContext.current().instruments
        mod = self.prepared(expect_module(mod))
        for w in watchers:
            w.run_before_pass(mod, self.info)
        try:
            out = self._run(mod)
        except RelayError:
            raise
        except Exception as error:
            for w in watchers:
                w.pass_failed(mod, self.info, error)
            raise
        remember_module(out)
        for w in watchers:
            w.run_after_pass(out, self.info)
        return out

    def prepared(self, mod: IRModule) -> IRModule:
        """The module as the pass needs it."""
        return mod

    def __repr__(self) -> str:
        return f"<pass {self.info.name}>"


class RulePass(Pass):
    """A registered pass with its options."""

    def __init__(self, rule: Rule, options: Mapping[str, Any] | None = None) -> None:
        """Options that are not given are as the context or the pass says."""
        super().__init__(PassInfo(rule.public or rule.name, rule.opt_level), self._with_options)
        self.rule = rule
        self.options = check_options(rule, options or {})

    def _with_options(self, mod: IRModule) -> IRModule:
        return self.rule.run(mod, **{**PassContext.current().defaults(self.rule), **self.options})

    def prepared(self, mod: IRModule) -> IRModule:
        """The module in the forms that the pass needs, by passes that can be watched too."""
        for form in self.rule.needs:
            mod = mod if form.is_known(mod) else RulePass(find(form.by))(mod)
        return mod


class Sequential(Pass):
    """Passes in turn; those that the context leaves out by their level give a warning."""

    def __init__(
        self,
        passes: Sequence[Pass],
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
    ) -> None:
        """`required` names passes that are run first."""
        super().__init__(PassInfo(name, opt_level, tuple(required or ())), self._in_turn)
        self.passes = tuple(passes)
        for step in self.passes:
            if not isinstance(step, Pass):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{step!r:.80} is not a pass; relay.transform.FuseOps() makes one")

    def _in_turn(self, mod: IRModule) -> IRModule:
        context = PassContext.current()
        for step in self.passes:
            if context.is_enabled(step.info):
                for name in step.info.required:
                    mod = RulePass(find(name))(mod)
                mod = step(mod)
            elif step.info.opt_level > context.opt_level and not context.is_disabled(step.info):
                name, level = step.info.name, step.info.opt_level
                said = f"`{name}` is left out: it is of level {level} and opt_level is {context.opt_level}"
                warnings.warn(f"{said}; `PassContext(opt_level={level})` runs it", stacklevel=2)
        return mod


def check_options(rule: Rule, options: Mapping[str, Any], span: Span | None = None) -> dict[str, Any]:
    """Options of a pass, as it declares them (`unknown-option`, `option-type`)."""
    types = rule.option_types
    for name, value in options.items():
        if name not in types:
            known = f"it has {', '.join(types)}" if types else "it has none"
            hint = did_you_mean(name, types) or known
            fail("unknown-option", f"the pass `{rule.name}` has no option `{name}`", span, hint=hint)
        if not _has_type(value, types[name]):
            wanted = f"it is {rule.options[name]}"
            fail("option-type", f"option `{name}` of `{rule.name}` cannot be {value!r}", span, hint=wanted)
    return dict(options)


def _has_type(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_has_type(value, h) for h in get_args(hint))
    if hint is None or hint is type(None):
        return value is None
    if hint in (int, bool, float):
        return type(value) is hint or (hint is float and type(value) is int)
    if origin is Sequence and isinstance(value, str):
        return False
    kind = origin or hint
    return isinstance(value, kind) if isinstance(kind, type) else True


def parse_pipeline(text: str, source_name: str = "<passes>") -> list[RulePass]:
    """The passes that a text says: `to_anf,fuse_ops(max_ops=64)` (`bad-pipeline`, `unknown-pass`)."""
    source = Source(source_name, text)
    try:
        tree = ast.parse(f"({text},)" if text.strip() else "()", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        _refuse(Span(source, 0, len(text)))
    assert isinstance(tree, ast.Tuple)
    return [_parse_pass(e, source) for e in tree.elts]


def _parse_pass(e: ast.expr, source: Source) -> RulePass:
    """One pass, with options in parentheses."""
    start = len(source.text.encode()[: e.col_offset - 1].decode(errors="ignore"))
    span = Span(source, start, min(len(source.text), start + (e.end_col_offset or 0) - e.col_offset))
    match e:
        case ast.Name(id=name):
            return RulePass(find(name, span))
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
            rule = find(name, span)
            options = {k.arg or "": _literal(k.value, span) for k in keywords}
            return RulePass(rule, check_options(rule, options, span))
        case _:
            _refuse(span)


def _literal(e: ast.expr, span: Span) -> Any:
    try:
        return ast.literal_eval(e)
    except (ValueError, TypeError, RecursionError, MemoryError):
        _refuse(span)


def _refuse(span: Span) -> NoReturn:
    fail(
        "bad-pipeline",
        "cannot parse the pass pipeline",
        span,
        hint="write names with options in parentheses, as in `to_anf,inline(max_size=20)`",
    )
