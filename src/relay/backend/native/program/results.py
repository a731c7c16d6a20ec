"""The loops that compute results: as kernels, where these know how, else as the rules of operators say."""

from collections.abc import Mapping

from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.deferred import Deferred, below, build_loops, rows_of
from relay.backend.native.loops.views import View


def build_results(b: Builder, outs: Mapping[Deferred, View]) -> None:
    """Compute tensors of one shape."""
    if rows_of(outs) is None:
        if len(outs) == 1 and is_transposed(b, outs):
            return
        if any(isinstance(x, Deferred) and x.call.attrs.window_product() is not None for x in below(outs)):
            from relay.backend.native.kernels.depthwise import depthwise

            if depthwise(b, outs):
                return
    build_loops(b, outs)


def build_result(b: Builder, x: Deferred, out: View) -> None:
    """Compute a tensor."""
    build_results(b, {x: out})


def is_transposed(b: Builder, outs: Mapping[Deferred, View]) -> bool:
    """Compute a tensor if it is another whose last axis changes its place; else False."""
    ((x, out),) = outs.items()
    if x.call.attrs.name != "transpose" or not isinstance(x.views[0], View):
        return False
    from relay.backend.native.kernels.transpose import transposed

    return transposed(b, x, out)
