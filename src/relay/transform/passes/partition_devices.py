"""What is to be computed on other devices, as definitions that say which compiler makes their code."""

from collections.abc import Mapping

from relay.analysis.annotated_regions import compiler_of
from relay.analysis.devices import Devices
from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Op
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.op.annotation import DeviceCopy, OnDevice
from relay.transform.passes.annotate_target import with_marks
from relay.transform.passes.graph_form import to_graph_normal_form
from relay.transform.passes.merge_compiler_regions import merge_compiler_regions
from relay.transform.passes.partition_graph import partition_graph
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types


@module_pass("partition_devices", opt_level=0, public="PartitionDevices")
def partition_devices(
    mod: IRModule, *, compilers: Mapping[str, str] | None = None, default_device: str = "cpu"
) -> IRModule:
    """Make a definition of each region whose operators are on one device, for the compiler of that device.

    `compilers` has a compiler for each device that the program names; an empty one is the program's own.  The
    devices are found as by `PlanDevices`; what nothing is said of is on `default_device`, except operators
    on numbers alone, such as counters, which stay with the control flow.  So do operators with an effect.
    Raises `device-conflict`, and `unknown-device` where there is no compiler.

    >>> show(partition_devices, '''
    ... def @main(%x: Tensor[(2,), float32]) {
    ...   let %y = on_device(exp(on_device(%x, virtual_device="cpu")), virtual_device="gpu");
    ...   tanh(%y)
    ... }''', compilers={"cpu": "", "gpu": "xla gpu"})
    def @main(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
      tanh(@default_xla_gpu_main_0(%x))
    }
    <BLANKLINE>
    def @default_xla_gpu_main_0(
      %x0: Tensor[(2,), float32], Compiler="xla gpu", global_symbol="default_xla_gpu_main_0",
      Primitive=1, Inline=1
    ) -> Tensor[(2,), float32] {
      exp(%x0)
    }
    """
    known = compilers or {}
    for name, compiler in known.items():
        if not isinstance(compiler, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            fail("option-value", f"the compiler of the device `{name}` is a name, not {compiler!r:.60}")
    mod = to_graph_normal_form(mod)
    devices, types = Devices(mod), Types(mod)
    takers: dict[Expr, str] = {}

    def placed(root: Expr) -> Expr:
        """A definition without what says where values are, whose calls on other devices are noted."""
        new: dict[Expr, Expr] = {}
        for e in post_order(root):
            children = tuple([new[c] for c in e.children])
            if isinstance(e, Call) and isinstance(e.attrs, OnDevice | DeviceCopy):
                check_names(e.attrs, known, e)
                new[e] = children[1]
                continue
            new[e] = e if children == e.children else e.rebuild(children)
            if isinstance(e, Call) and isinstance(e.op, Op) and not e.attrs.impure:
                said = devices.of(e)
                device = said or ("" if is_of_numbers(e, types) else default_device)
                takers[new[e]] = known.get(device, "")
        return new[root]

    own = {v: placed(e) for v, e in mod.functions.items() if not compiler_of(e)}
    mod = with_definitions(mod, own)
    types = Types(mod)
    marked = {v: with_marks(e, lambda call: takers.get(call, ""), types) for v, e in own.items()}
    return partition_graph(merge_compiler_regions(with_definitions(mod, marked)))


def check_names(mark: OnDevice | DeviceCopy, known: Mapping[str, str], e: Call) -> None:
    """Refuse a device that has no compiler (`unknown-device`)."""
    said = (mark.virtual_device,) if isinstance(mark, OnDevice) else (mark.src_device, mark.dst_device)
    for name in said:
        if name and name not in known:
            there = ", ".join(f"`{k}`" for k in known) or "none"
            hint = f'give it one: {{"{name}": "xla gpu"}}, or "native" for this processor'
            message = f"no target is given for the device `{name}`, only for {there}"
            fail("unknown-device", message, e.span, hint=hint)


def is_of_numbers(e: Call, types: Types) -> bool:
    """Whether an operator reads and gives nothing but single numbers."""
    several = [types(x) for x in (*e.args, e)]
    return all(isinstance(t, TensorType) and not t.shape for t in several)
