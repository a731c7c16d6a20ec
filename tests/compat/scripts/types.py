"""Types: how they are made, looked at and visited."""

import tvm
from tvm import relay
from tvm.relay import TypeMutator, TypeVisitor
from tvm.relay.analysis import check_kind, free_type_vars
from tvm.topi.utils import get_const_tuple


class Dtypes(TypeVisitor):
    def __init__(self):
        super().__init__()
        self.found = []

    def visit_tensor_type(self, tt):
        self.found.append(tt.dtype)


class Halve(TypeMutator):
    def visit_tensor_type(self, tt):
        return relay.TensorType(tt.shape, "float16")


ft = relay.FuncType([relay.TensorType((2, 3), "float32"), relay.scalar_type("int8")], relay.TupleType([]))
visitor = Dtypes()
visitor.visit(ft)
print(visitor.found, Halve().visit(ft))

x = relay.var("x", shape=(relay.Any(), 224, 3))
tt = relay.transform.InferTypeLocal(relay.transpose(x, (2, 0, 1)))
print(tt, [isinstance(d, tvm.tir.IntImm) for d in tt.shape], [isinstance(d, tvm.tir.Any) for d in tt.shape])
print(get_const_tuple(relay.TensorType((4, 5)).shape), relay.TensorType((4, 5)).concrete_shape)
print([int(d) for d in relay.TensorType((tvm.tir.IntImm("int32", 7), 2)).shape])
a = relay.TypeVar("a")
print(
    check_kind(ft),
    [v.name_hint for v in free_type_vars(relay.TupleType([a]))],
    check_kind(relay.GlobalTypeVar("List")),
)
f = relay.Function([relay.var("y", a)], relay.const(1), None, [a]).with_attr(
    "Primitive", tvm.tir.IntImm("int32", 1)
)
print(int(f.attrs["Primitive"]), f.attrs is not None, "Composite" in f.attrs)
