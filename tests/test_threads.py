"""Python threads share no mutable state but the tables listed here, each with the reason why it is safe."""

import ast
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import relay
from relay.diagnostic import derive_from, derived_nodes
from relay.ir.collector import paused
from relay.ir.type import FuncType, TensorType, TupleType, TypeVar
from relay.transform.rewriting.context import PassContext

ROOT = Path(relay.__file__).parent
THREADS = 8

REGISTERED = "entered while a module is imported, under Python's import lock; a single assignment by name"
ATTRIBUTES = "entered by single assignments and `setdefault` by a string, by the user's threads"
SAFE = {
    "compat": {
        "_functions": "entered by a single assignment, by the user's threads",
        "relay.ir.hooks": "filled while `relay.compat.tvm` is imported, under Python's import lock",
    },
    "diagnostic": {"_python_sources": "a cache; `setdefault` by a string is atomic, so all see one source"},
    "frontend": {
        "ACTIVATIONS": REGISTERED,
        "on_complex": REGISTERED,
        "writers": REGISTERED,
        "converters": REGISTERED,
        "_types": "a cache of types: equal keys give one type, in whatever order",
    },
    "ir": {
        "Op": "interned operators; `setdefault` by a string is atomic",
        "_CANONICAL": "interned type parameters; `setdefault` by an enum and numbers is atomic",
        "interned": "interned types, entered under a lock",
    },
    "op": {
        "registry": REGISTERED,
        "listeners": "entries by numbers that are given once; each thread enters and takes out its own",
        "builders": REGISTERED,
        "_public_functions": "a cache; `setdefault` by a function is atomic, so all get one wrapper",
        "alias_of": REGISTERED,
        "_default_instances": "a cache of operators, which compare by value",
        "relations": REGISTERED,
        "computed": REGISTERED,
        "columns": ATTRIBUTES,
    },
    "interpreter": {"generators": ATTRIBUTES},
    "pattern": {"tables": ATTRIBUTES},
    "lint": {"RULES": REGISTERED},
    "training": {"_running": "saves by their directories, to each of which one thread at a time saves"},
    "text": {"_packaged": "a cache; `setdefault` by a string is atomic, so all get one module"},
    "transform": {
        "registry": REGISTERED,
        "rules": REGISTERED,
        "public_names": REGISTERED,
        "change": REGISTERED,
        "turning": REGISTERED,
    },
    "typecheck": {
        "RULES": REGISTERED,
        "_memo": "a cache of types: operators are functions of their operands' types",
    },
}
"""What functions change outside themselves, by the package or module that has it."""
CHANGES = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft",
    "remove", "reverse", "setdefault", "sort", "update",
}  # fmt: skip


def root_of(e: ast.expr) -> str | None:
    """`x` of `x.a[i].b`."""
    while isinstance(e, ast.Attribute | ast.Subscript):
        e = e.value
    return e.id if isinstance(e, ast.Name) else None


def changed_in(function: ast.AST) -> Iterator[str]:
    """The names whose values a function changes in place, and those that it declares `global`."""
    for n in ast.walk(function):
        if isinstance(n, ast.Global):
            yield from n.names
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in CHANGES:
            yield root_of(n.func.value) or ""
        elif isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            targets = n.targets if isinstance(n, ast.Assign | ast.Delete) else [n.target]
            for target in targets:
                for t in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                    if isinstance(t, ast.Attribute | ast.Subscript):
                        yield root_of(t) or ""


def own_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """The parameters and local names of a function and of those inside it."""
    declared = {name for n in ast.walk(function) if isinstance(n, ast.Global) for name in n.names}
    found = {n.arg for n in ast.walk(function) if isinstance(n, ast.arg)}
    found |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found - declared


def outermost_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
    for n in ast.iter_child_nodes(tree):
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield n
        else:
            yield from outermost_functions(n)


def module_names(tree: ast.Module) -> dict[str, str]:
    """The names of a module for values, classes and what it imports from this package, with where each is."""
    found: dict[str, str] = {}
    for n in tree.body:
        targets = (
            n.targets if isinstance(n, ast.Assign) else [n.target] if isinstance(n, ast.AnnAssign) else []
        )
        found |= {t.id: "" for t in targets if isinstance(t, ast.Name)}
        if isinstance(n, ast.ClassDef):
            found[n.name] = ""
        elif isinstance(n, ast.ImportFrom) and n.module is not None and n.module.split(".")[0] == "relay":
            found |= {a.asname or a.name: f"{n.module}.{a.name}" for a in n.names}
    return found


def changed_values(path: Path) -> Iterator[str]:
    """The values of modules that functions of a file change."""
    tree = ast.parse(path.read_text())
    names = module_names(tree)
    for function in outermost_functions(tree):
        own = own_names(function)
        for name in changed_in(function):
            if name in names and name not in own:
                yield names[name] or name


def test_functions_change_no_values_of_modules_but_those_argued_for():
    found: dict[str, set[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        package = path.relative_to(ROOT).with_suffix("").parts[0]
        found.setdefault(package, set()).update(changed_values(path))
    assert {package: names for package, names in found.items() if names} == {
        p: set(t) for p, t in SAFE.items()
    }


def in_threads(job: Callable[[int], object]) -> list[object]:
    """The results of `job(0)`, `job(1)`, …, which begin together, each in a thread of its own."""
    start = threading.Barrier(THREADS)

    def run(i: int) -> object:
        start.wait()
        return job(i)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(run, range(THREADS)))
    finally:
        sys.setswitchinterval(interval)


def test_equal_types_made_by_several_threads_are_one_object():
    a = TypeVar("a")

    def job(_: int) -> list[int]:
        made = []
        for size in range(7000, 7400):
            tensor = TensorType((size, 3), "int8")
            made += [tensor, TupleType((tensor, tensor)), FuncType((tensor,), a, (a,)).canonical]
        keep.append(made)
        return [id(t) for t in made]

    keep: list[object] = []
    first, *others = in_threads(job)
    assert all(found == first for found in others)


def test_derived_spans_of_one_thread_are_not_those_of_another():
    inside = threading.Event()
    done = threading.Event()
    mine = relay.parse_expr("%x").span
    assert mine is not None

    def derive() -> relay.Expr:
        with derived_nodes():
            derive_from(mine)
            inside.set()
            done.wait(10)
            return relay.var("y")

    with ThreadPoolExecutor(1) as pool:
        derived = pool.submit(derive)
        inside.wait(10)
        here = relay.var("z")
        done.set()
        assert here.span is not None
        assert here.span.source_name.name == __file__
        assert derived.result().span is mine


def test_one_pass_context_may_be_entered_by_several_threads():
    shared = PassContext(opt_level=3)

    def job(i: int) -> list[int]:
        seen = []
        for _ in range(200):
            with shared:
                with PassContext(opt_level=i):
                    seen.append(PassContext.current().opt_level)
                seen.append(PassContext.current().opt_level)
            seen.append(PassContext.current().opt_level)
        return seen

    assert in_threads(job) == [[i, 3, 2] * 200 for i in range(THREADS)]


def test_the_collector_is_on_after_pauses_that_overlap():
    import gc

    def job(_: int) -> None:
        for _ in range(300):
            with paused(), paused():
                pass

    in_threads(job)
    assert gc.isenabled()
    gc.disable()
    try:
        in_threads(job)
        assert not gc.isenabled()
    finally:
        gc.enable()


PROGRAM = """import "std/list"
type Shape[n: Dim] { Round(Tensor[(n,), float32]), Square(Tensor[(n, n), float32]) }
def @area(%s: Shape[n]) { match (%s) { Round(%r) => sum(%r * %r), Square(%m) => sum(%m) } }
def @twice(%f, %x) { %f(%f(%x)) }
def @loss(%w: Tensor[(3, 3), float32], %x: Tensor[(2, 3), float32]) {
  let %y = nn.relu(nn.dense(%x, %w) + Constant(0.5, (3,), float32));
  @twice(fn (%z) { %z * 2 }, sum(exp(%y)))
}
def @main(%w: Tensor[(3, 3), float32], %x: Tensor[(2, 3), float32]) {
  let %total = @sum(@map(fn (%i) { %i + SIZE }, Cons(1, Cons(2, Nil))));
  (grad(@loss)(%w, %x), @area(Square(%w)), @area(Round(%x.0 + 1)), %total)
}
""".replace("%x.0 + 1", "sum(%x, axis=0)")
WRONG = "def @f(%x: Tensor[(SIZE,), float32]) { %x + Constant(1, (3, 7), float32) }\n"


def everything(i: int) -> list[object]:
    """What a thread makes of a program of its own: text, types, spans, values, gradients, errors."""
    mod = relay.parse(PROGRAM.replace("SIZE", str(i)), f"thread{i}.relay")
    typed = relay.transform.infer_type(mod)
    spans = [str(e.span) for e in relay.ir.walk.post_order(typed["main"])]
    types = [str(e.checked_type) for e in relay.ir.walk.post_order(typed["area"]) if isinstance(e, relay.Var)]
    w, x = np.linspace(-1, 1, 9, dtype="float32").reshape(3, 3), np.ones((2, 3), "float32")
    found: list[object] = [str(typed), spans, types]
    for executor in ("interpreter", "native"):
        value = relay.create_executor(executor, typed).evaluate()(w, x)
        found.append(str(value))
    derived = relay.transform.expand_grad(typed)
    found += [str(derived), [str(e.span) for e in relay.ir.walk.post_order(derived["main"])]]
    built = relay.Function([v := relay.var("v", shape=(i + 1,))], relay.exp(v) + relay.const(1.0))
    found += [str(relay.transform.infer_type(relay.IRModule.from_expr(built))), str(built.body.span)]
    with pytest.raises(relay.RelayError) as raised:
        relay.transform.infer_type(relay.parse(WRONG.replace("SIZE", str(i + 10)), f"wrong{i}.relay"))
    found.append(str(raised.value))
    return found


def test_threads_find_what_one_thread_finds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RELAY_CACHE", "off")
    alone = [everything(i) for i in range(THREADS)]
    assert in_threads(everything) == alone


def test_threads_may_share_a_module():
    shared = relay.parse(PROGRAM.replace("SIZE", "1"))
    alone = str(relay.transform.infer_type(relay.parse(PROGRAM.replace("SIZE", "1"))))
    parts = [e for d in shared.functions.values() for e in relay.ir.walk.post_order(d)][::5]
    types = [str(shared.type_of(e)) for e in parts]
    fresh = relay.parse(PROGRAM.replace("SIZE", "1"))
    same = [e for d in fresh.functions.values() for e in relay.ir.walk.post_order(d)][::5]

    def job(i: int) -> object:
        if i % 2:
            return str(relay.transform.infer_type(fresh))
        return [str(fresh.type_of(e)) for e in same]

    assert in_threads(job) == [alone if i % 2 else types for i in range(THREADS)]


FIRST_USE = """
import sys, threading
import numpy as np
import relay
sys.setswitchinterval(1e-5)
start = threading.Barrier(8)
found, wrong = [], []
def job(i):
    start.wait()
    try:
        if i % 2:
            x = relay.var("x", shape=(2,))
            mod = relay.IRModule.from_expr(relay.Function([x], relay.exp(x) + relay.const(1.0)))
        else:
            mod = relay.parse("def @main(%x: Tensor[(2,), float32]) { exp(%x) + 1 }")
        executor = ("native", "interpreter")[i % 4 // 2]
        found.append(str(relay.create_executor(executor, mod).evaluate()(np.zeros(2, "float32"))))
    except BaseException as error:
        wrong.append(error)
threads = [threading.Thread(target=job, args=(i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
if wrong: raise wrong[0]
assert set(found) == {found[0]} and len(found) == 8, found
"""


def test_the_first_uses_of_a_process_may_come_from_several_threads():
    for _ in range(3):
        subprocess.run([sys.executable, "-c", FIRST_USE], check=True, timeout=120)
