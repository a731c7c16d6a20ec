"""Devices for all values, and copies where a value goes from one to another."""

from relay.analysis.devices import Devices
from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.annotation import DeviceCopy, OnDevice
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass


@module_pass("plan_devices", opt_level=0, public="PlanDevices")
def plan_devices(mod: IRModule, *, default_device: str = "cpu") -> IRModule:
    """Find a device for each value by what `on_device` and `device_copy` say, and put in copies.

    What an operator reads and what it gives are on one device, and so are a variable and its value, the
    branches of an `if` and its value, parameters and arguments; fields of tuples have devices of their own.
    `on_device(x, d)` says that `x` is computed
    on `d`, unless `constrain_body` is False, and with `constrain_result` that its value is there; where the
    two are on different devices, it becomes a `device_copy`.  What nothing is said of is on `default_device`.
    Raises `device-conflict` where two devices are said of one value.

    >>> show(plan_devices, '''
    ... def @main(%x: Tensor[(2,), float32]) {
    ...   tanh(on_device(exp(on_device(%x, virtual_device="cpu")), virtual_device="gpu"))
    ... }''')
    def @main(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
      %0 = exp(device_copy(%x, src_device="cpu", dst_device="gpu"));
      tanh(device_copy(%0, src_device="gpu", dst_device="cpu"))
    }
    """
    if not any(is_placement(e) for f in mod.functions.values() for e in post_order(f)):
        return mod
    devices = Devices(mod)

    def placed(root: Expr) -> Expr:
        new: dict[Expr, Expr] = {}
        for e in post_order(root):
            children = tuple([new[c] for c in e.children])
            new[e] = e if children == e.children else e.rebuild(children)
            if isinstance(e, Call) and isinstance(e.attrs, OnDevice):
                source, target = (devices.of(x) or default_device for x in (e.args[0], e))
                copy = DeviceCopy(src_device=source, dst_device=target)
                new[e] = children[1] if source == target else copy(children[1])
        return new[root]

    return with_definitions(mod, {v: placed(e) for v, e in mod.functions.items()})


def is_placement(e: Expr) -> bool:
    """Whether an expression says where a value is."""
    return isinstance(e, Call) and isinstance(e.attrs, OnDevice | DeviceCopy)
