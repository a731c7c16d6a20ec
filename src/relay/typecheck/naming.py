"""Names of type parameters: what placeholders and unknowns become when a definition is written out."""

from typing import TYPE_CHECKING, Any

from relay.ir.type import ANY, UNIT, FuncType, Kind, TypeVar
from relay.typecheck.generalize import Signature
from relay.typecheck.literals import default
from relay.typecheck.schemes import WITHOUT_DEFAULT
from relay.typecheck.unknown import Unknown, zonk

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference

_POOLS = {
    Kind.Type: ("abcdefghijklmnopqrstuvwxyz", "t"),
    Kind.Dim: ("nmklpq", "d"),
    Kind.Shape: (["s"], "s"),
    Kind.BaseType: (["bt"], "bt"),
    Kind.AdtHandle: (["h"], "h"),
    Kind.Constraint: (["r"], "r"),
}
_DEFAULTS: dict[Kind, Any] = {Kind.Type: UNIT, Kind.Shape: (), Kind.Dim: ANY, Kind.BaseType: "float32"}


def close(v: Unknown) -> Any:
    """What an unknown becomes that nothing decides and nothing depends on."""
    return default(v.allowed, []) if v.kind is Kind.BaseType else _DEFAULTS[v.kind]


class _Names:
    """Names for type parameters: a, b, …; n, m, …; s, s1, …; bt, bt1, ….

    Those of enclosing functions are taken.
    """

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}
        self.next = dict.fromkeys(_POOLS, 0)

    def take(self, name: str) -> None:
        self.taken[name] = self.taken.get(name, 0) + 1

    def release(self, names: list[str]) -> None:
        for name in names:
            self.taken[name] -= 1

    def fresh(self, kind: Kind) -> str:
        """The next name of a kind that is free."""
        pool, stem = _POOLS[kind]
        while True:
            i = self.next[kind]
            self.next[kind] = i + 1
            name = pool[i] if i < len(pool) else f"{stem}{i - len(pool) + 1}"
            if not self.taken.get(name):
                return name


class _Env:
    """How placeholders are called here: by names that all share and, while it is entered, some of its own."""

    __slots__ = ("cache", "hidden", "own", "rename")

    def __init__(self, rename: dict[TypeVar, Any], own: dict[TypeVar, Any]) -> None:
        self.rename = rename
        self.own = own
        self.hidden: list[dict[TypeVar, Any]] = []
        self.cache: dict[Any, Any] = {}

    def enter(self) -> None:
        rename = self.rename
        self.hidden.append({p: rename.get(p, p) for p in self.own})
        rename.update(self.own)

    def leave(self) -> None:
        self.rename.update(self.hidden.pop())

    def type(self, t: Any) -> Any:
        return zonk(t, self.rename, self.cache, close)


class Naming:
    """How the type parameters of one definition are called, in each function while it is entered."""

    def __init__(self, inf: "Inference") -> None:
        """`inf` has solved the definition's group."""
        self.inf = inf
        self.env = _Env({}, {})
        self.names = _Names()
        self.outer: list[tuple[_Env, list[str], dict[Kind, int]]] = []
        self.envs: dict[Signature, _Env] = {}
        self.after: dict[Signature, dict[Kind, int]] = {}

    def type(self, t: Any) -> Any:
        """A type with everything in it called as it is here."""
        return self.env.type(t)

    def parameter(self, p: TypeVar) -> Any:
        """What a type parameter is called here."""
        return self.env.rename.get(p, p)

    def enter(self, sig: Signature) -> None:
        """Call type parameters as they are in a function."""
        env = self.name(sig)
        names = [p.name for p in (*sig.type_params, *sig.final.values())]
        self.outer.append((self.env, names, self.names.next))
        self.names.next = dict(self.after.get(sig, self.names.next)) if names else self.names.next
        self.env = env
        env.enter()
        for name in names:
            self.names.take(name)

    def leave(self) -> None:
        """Call type parameters as they are around the function that was entered last."""
        self.env.leave()
        self.env, names, following = self.outer.pop()
        self.names.release(names)
        self.names.next = following

    def name(self, sig: Signature) -> _Env:
        """Give the type parameters that a function was generalised with their names."""
        known = self.envs.get(sig)
        if known is not None:
            return known
        env = self.env
        if sig.others:
            env = _Env(env.rename, {p: self.closed(p) for p in sig.others})
        own = env.own if sig.others else env.rename
        if sig.added:
            names = self.names
            before, declared = dict(names.next), [p.name for p in sig.type_params]
            for name in declared:
                names.take(name)
            for p in sig.added:
                own[p] = sig.final[p] = TypeVar(names.fresh(p.kind), p.kind)
            names.release(declared)
            self.after[sig] = names.next
            names.next = before
        self.envs[sig] = env
        return env

    def closed(self, p: TypeVar) -> Any:
        """What a type parameter of another function of the group is where nothing decides it."""
        if p.kind in WITHOUT_DEFAULT:
            return p
        return default(self.inf.classes.get(p), []) if p.kind is Kind.BaseType else _DEFAULTS[p.kind]

    def scheme(self, sig: Signature) -> FuncType:
        """The type of a bound function, its parameters named."""
        env = self.name(sig)
        env.enter()
        found = env.type(sig.scheme)
        env.leave()
        return found
