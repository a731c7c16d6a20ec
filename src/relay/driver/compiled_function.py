"""Python functions compiled for the types of their arguments, when they are called."""

from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from relay.backend.native.host.outputs import OUT
from relay.backend.xla.device_arrays import ON_DEVICE
from relay.diagnostic import did_you_mean, fail, hide_own_frames
from relay.interpreter.array_kinds import in_kind, kind_of_arguments
from relay.interpreter.tensor_conversion import describe
from relay.ir.walk import run
from relay.op.records import quoted
from relay.tracing.function import MAX_KEPT, TracedFunction
from relay.tracing.pytree import Leaf, Node, Path, Tree, Where, parts_of, unboxed
from relay.tracing.trace import Specialised

if TYPE_CHECKING:
    from relay.backend.native.host.compiled_module import CompiledModule


OPTIONS = (OUT, ON_DEVICE)
"""The arguments of calls that say where results go, where the function has no parameters of these names."""


class CompiledFunction:
    """A Python function that is compiled for each structure and types of its arguments.

    Machine code leaves the result of `compiled(…, out=arrays)` in arrays of the caller's, in the structure of
    the result, and XLA that of `compiled(…, on_device=True)` on the devices.
    The last `MAX_KEPT` programs are kept.  `compiled.specialised(…)` is the program for some arguments, which
    can be measured and stored.
    """

    def __init__(
        self,
        function: TracedFunction,
        build: Callable[..., "CompiledModule"],
        params: Mapping[str, Any] | None = None,
        shard: Mapping[str, Any] | None = None,
    ) -> None:
        """`build` compiles a module; `params` are values of parameters, by name, and `shard` says how
        parameters, and parts of their containers by name, are split over a mesh.
        """
        self.function = function
        self.build = build
        self.params = dict(params or {})
        self.shard = shard
        self.__name__ = self.__qualname__ = function.__name__
        self.__doc__ = function.__doc__
        self._kept: OrderedDict[Specialised, CompiledModule] = OrderedDict()
        self._lock = Lock()

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        try:
            options = {o: named.pop(o) for o in OPTIONS if o in named and not self.function.header.takes(o)}
            specialised, values = self.function.for_arguments(args, {**self.params, **named})
            built = self._compiled(specialised)
            if OUT in options:
                options[OUT] = arrays_like(specialised, options[OUT])
            is_for_xla = not hasattr(built, "artefact")
            kind = None if is_for_xla else kind_of_arguments(args, named)
            return specialised.restored(in_kind(built[built.default()](*values, **options), kind))
        except Exception as error:
            hide_own_frames(error)
            raise

    def specialised(self, /, *args: Any, **named: Any) -> "CompiledModule":
        """The program for arguments of these types: each is a tensor, or a tuple for a container."""
        return self._compiled(self.function.for_arguments(args, {**self.params, **named})[0])

    def _compiled(self, made: Specialised) -> "CompiledModule":
        with self._lock:
            built = self._kept.get(made)
            if built is not None:
                self._kept.move_to_end(made)
                return built
        shard = by_number(self.shard, made) if isinstance(self.shard, Mapping) else self.shard
        built = self.build(made.mod, shard=shard)
        with self._lock:
            self._kept[made] = built
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return built

    def __getattr__(self, name: str) -> NoReturn:
        from relay.backend.native.host.compiled_module import CompiledModule

        said = f"`{self.__class__.__name__}` has no attribute `{name}`"
        if not name.startswith("_") and hasattr(CompiledModule, name):
            said = (
                f"{self!r} is a program for each types of its arguments, and `{name}` is of one program:"
                f" `f.specialised(…).{name}` with arguments of these types"
            )
        raise AttributeError(said)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}>"


def by_number(shard: Mapping[str, Any], made: Specialised) -> dict[str, Any]:
    """What is said of parts of containers by name, for the tuples that these become (`bad-sharding`)."""
    trees = dict(zip([p.name_hint for p in made.function.params], made.arguments, strict=True))
    found: dict[str, Any] = {}
    for key, spec in shard.items():
        head, *steps = str(key).split(".")
        tree, path = trees.get(head), [head]
        for step in steps:
            if isinstance(tree, Node) and tree.keys:
                names = list(map(str, tree.keys))
                if step not in names:
                    hint = did_you_mean(step, names) or f"there are {quoted(names[:8])}"
                    message = f"`shard` names `{key}`: there is no `{step}`"
                    fail("bad-sharding", message, made.function.span, hint=hint)
                step = str(names.index(step))
            path.append(step)
            inside = isinstance(tree, Node) and step.isdecimal() and int(step) < len(tree.parts)
            tree = tree.parts[int(step)] if isinstance(tree, Node) and inside else None
        found[".".join(path)] = spec
    return found


def arrays_like(made: Specialised, out: Any) -> Any:
    """The arrays for a result that are given in its structure, as nested tuples (`output-array`)."""

    def within(tree: Tree, x: Any, where: Where) -> Generator[Any, Any, Any]:
        if isinstance(tree, Leaf) or x is None:
            return unboxed(x)
        kind, keys, parts = parts_of(x) or (None, (), ())
        if (kind, keys, len(parts)) != (tree.kind, tree.keys, len(tree.parts)):
            hint = "give containers as the function returns them, None for what may lie anywhere"
            message = f"`{where}` is {describe(x)}, for a result {tree}"
            fail("output-array", message, made.function.span, hint=hint)
        given: list[Any] = []
        for i, (t, p) in enumerate(zip(tree.parts, parts, strict=True)):
            given.append((yield within(t, p, Path(where, kind, keys, i))))
        return tuple(given)

    return run(within(made.result, out, OUT))
