"""Arrays of tensors of one shape and dtype, as `StaticTensorArrayOps` defines them: lists of a data type.

A data type has a tensor (`tensor_constructor`) or nothing yet (`tensor_nil`).  Names of types and definitions
end in the dtype and the sizes: `tensor_array_read_float32_2_any`.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from relay.ir.expr import Constructor, GlobalVar
from relay.ir.module import IRModule
from relay.ir.type import GlobalTypeVar
from relay.text.parser import parse_module

__all__ = ["Prelude", "StaticTensorArrayOps"]

Shape = tuple[Any, ...]
ANY = "?"
"""An unknown size, as text."""

TYPE = """
type {tensor} {{ tensor_constructor_{end}({data}), tensor_nil_{end} }}

def @tensor_get_data_{end}(%x: {tensor}) -> {data} {{
  match? (%x) {{ tensor_constructor_{end}(%t) => %t }}
}}
"""
OPERATIONS = """
def @tensor_array_{end}(%n: int32) -> List[{tensor}] {{
  if (%n <= 0i32) {{ Nil }} else {{ Cons(tensor_nil_{end}, @tensor_array_{end}(%n - 1i32)) }}
}}

def @tensor_array_read_{end}(%array: List[{tensor}], %n: int32) -> {tensor} {{ @nth(%array, %n) }}

def @tensor_array_write_{end}(%array: List[{tensor}], %n: int32, %x: {tensor}) -> List[{tensor}] {{
  @update(%array, %n, %x)
}}

def @tensor_array_unstack_part_{end}(%i: int32, %n: int32, %t: {stacked_data}) -> List[{tensor}] {{
  if (%i >= %n) {{ Nil }} else {{
    Cons(tensor_constructor_{end}(take(%t, %i, axis=0)), @tensor_array_unstack_part_{end}(%i + 1i32, %n, %t))
  }}
}}

def @tensor_array_unstack_{end}(%t: {stacked_data}) -> List[{tensor}] {{
  @tensor_array_unstack_part_{end}(0i32, cast(take(shape_of(%t), 0i32), dtype="int32"), %t)
}}

def @tensor_array_stack_{end}(%array: List[{tensor}]) -> {stacked} {{
  match? (%array) {{
    Cons(%x, %rest) => @tensor_array_stack_onto_{end}(
      tensor_constructor_{stacked_end}(expand_dims(@tensor_get_data_{end}(%x), axis=0)), %rest
    )
  }}
}}

def @tensor_array_stack_onto_{end}(%done: {stacked}, %array: List[{tensor}]) -> {stacked} {{
  match (%array) {{
    Nil => %done,
    Cons(%x, %rest) => {{
      let %both = (@tensor_get_data_{stacked_end}(%done), expand_dims(@tensor_get_data_{end}(%x), axis=0));
      @tensor_array_stack_onto_{end}(tensor_constructor_{stacked_end}(concatenate(%both, axis=0)), %rest)
    }}
  }}
}}

def @tensor_array_gather_{end}(%array: List[{tensor}], %indices: Tensor[(?,), int32]) -> {stacked} {{
  let %n = cast(take(shape_of(%indices), 0i32), dtype="int32");
  @tensor_array_stack_{end}(@tensor_array_gather_part_{end}(0i32, %n, %array, %indices))
}}

def @tensor_array_gather_part_{end}(
  %i: int32, %n: int32, %array: List[{tensor}], %indices: Tensor[(?,), int32]
) -> List[{tensor}] {{
  if (%i >= %n) {{ Nil }} else {{
    Cons(@nth(%array, take(%indices, %i)), @tensor_array_gather_part_{end}(%i + 1i32, %n, %array, %indices))
  }}
}}

def @tensor_array_scatter_{end}(
  %array: List[{tensor}], %indices: Tensor[(?,), int32], %values: List[{tensor}]
) -> List[{tensor}] {{
  @tensor_array_scatter_from_{end}(0i32, %array, %indices, %values)
}}

def @tensor_array_scatter_from_{end}(
  %i: int32, %array: List[{tensor}], %indices: Tensor[(?,), int32], %values: List[{tensor}]
) -> List[{tensor}] {{
  match (%values) {{
    Nil => %array,
    Cons(%x, %rest) => @tensor_array_scatter_from_{end}(
      %i + 1i32, @update(%array, take(%indices, %i), %x), %indices, %rest
    )
  }}
}}

def @tensor_expand_dims_{end}(%x: {tensor}) -> {expanded} {{
  tensor_constructor_{expanded_end}(expand_dims(@tensor_get_data_{end}(%x), axis=0))
}}
"""
ALONG_FIRST = """
def @tensor_take_{end}(%t: {data}, %lower: int32, %upper: int32) -> {rows} {{
  tensor_constructor_{rows_end}(take(%t, arange(%lower, %upper, 1i32, dtype="int32"), axis=0))
}}

def @tensor_concatenate_{end}(%x: {tensor}, %y: {tensor}) -> {rows} {{
  tensor_constructor_{rows_end}(
    concatenate((@tensor_get_data_{end}(%x), @tensor_get_data_{end}(%y)), axis=0)
  )
}}

def @tensor_array_concat_{end}(%array: List[{tensor}]) -> {rows} {{
  match? (%array) {{
    Cons(%x, %rest) => @tensor_array_concat_onto_{end}(
      tensor_constructor_{rows_end}(@tensor_get_data_{end}(%x)), %rest
    )
  }}
}}

def @tensor_array_concat_onto_{end}(%done: {rows}, %array: List[{tensor}]) -> {rows} {{
  match (%array) {{
    Nil => %done,
    Cons(%x, %rest) => {{
      let %both = (@tensor_get_data_{rows_end}(%done), @tensor_get_data_{end}(%x));
      @tensor_array_concat_onto_{end}(tensor_constructor_{rows_end}(concatenate(%both, axis=0)), %rest)
    }}
  }}
}}

def @tensor_array_split_{end}(
  %array: List[{rows}], %value: {rows_data}, %lengths: Tensor[(?,), int32]
) -> List[{rows}] {{
  @tensor_array_split_from_{end}(
    0i32, 0i32, cast(take(shape_of(%lengths), 0i32), dtype="int32"), %array, %value, %lengths
  )
}}

def @tensor_array_split_from_{end}(
  %i: int32, %offset: int32, %n: int32, %array: List[{rows}], %value: {rows_data},
  %lengths: Tensor[(?,), int32]
) -> List[{rows}] {{
  if (%i >= %n) {{ %array }} else {{
    let %length = take(%lengths, %i);
    let %part = take(%value, arange(%offset, %offset + %length, 1i32, dtype="int32"), axis=0);
    let %next = @update(%array, %i, tensor_constructor_{rows_end}(%part));
    @tensor_array_split_from_{end}(%i + 1i32, %offset + %length, %n, %next, %value, %lengths)
  }}
}}
"""


def sizes(shape: Sequence[Any]) -> Shape:
    """Numbers, and `?` for each size that is not known."""
    return tuple([int(d) if isinstance(d, int) else ANY for d in shape])


def ending(dtype: str, shape: Sequence[Any]) -> str:
    """What names of a dtype and a shape end in."""
    said = "_".join(["any" if d == ANY else str(d) for d in sizes(shape)])
    return f"{dtype}_{said or 'scalar'}"


def tensor_text(dtype: str, shape: Shape) -> str:
    """A tensor type as text."""
    comma = "," if len(shape) == 1 else ""
    return f"Tensor[({', '.join(map(str, shape))}{comma}), {dtype}]"


class Prelude:
    """`relay.prelude.Prelude`, which also finds what `StaticTensorArrayOps` has defined."""

    def __init__(self, mod: IRModule | None = None) -> None:
        """Adds the standard library to `mod`."""
        self.own = import_module("relay.prelude").Prelude(mod)
        self.mod: IRModule = self.own.mod

    def __getattr__(self, name: str) -> Any:
        if name == "own":
            raise AttributeError(name)
        return getattr(self.own, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(self.own)})

    def get_name_static(self, canonical: str, dtype: str, shape: Sequence[Any], batch_dim: Any = None) -> str:
        """The name of a definition or constructor for a dtype and a shape; `tensor_t` is the data type."""
        del batch_dim
        end = ending(dtype, shape)
        return f"static_tensor_{end}_t" if canonical == "tensor_t" else f"{canonical}_{end}"

    def get_global_var_static(
        self, canonical: str, dtype: str, shape: Sequence[Any], batch_dim: Any = None
    ) -> GlobalVar:
        """A definition for a dtype and a shape."""
        return self.mod.get_global_var(self.get_name_static(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape: Sequence[Any]) -> GlobalTypeVar:
        """A data type for a dtype and a shape."""
        return self.mod.get_global_type_var(self.get_name_static(canonical, dtype, shape))

    def get_ctor_static(self, ty_name: str, canonical: str, dtype: str, shape: Sequence[Any]) -> Constructor:
        """A constructor of a data type for a dtype and a shape."""
        return self.mod.get_constructor(ty_name, self.get_name_static(canonical, dtype, shape))

    def get_tensor_ctor_static(self, canonical: str, dtype: str, shape: Sequence[Any]) -> Constructor:
        """`tensor_constructor` or `tensor_nil` for a dtype and a shape."""
        return self.get_ctor_static(self.get_name_static("tensor_t", dtype, shape), canonical, dtype, shape)


class StaticTensorArrayOps:
    """Defines the operations of arrays of tensors of one dtype and shape; `relay.Any()` is any size."""

    def __init__(self, prelude: Prelude, dtype: str, shape: Sequence[Any], batch_dim: Any = None) -> None:
        """What `register` adds to the module of `prelude`."""
        self.prelude = prelude
        self.dtype = dtype
        self.shape = tuple(shape)
        self.batch_dim = batch_dim

    def get_name(self, canonical: str) -> str:
        """The name of an operation."""
        return self.prelude.get_name_static(canonical, self.dtype, self.shape, self.batch_dim)

    def get_global_var(self, canonical: str) -> GlobalVar:
        """An operation."""
        return self.prelude.get_global_var_static(canonical, self.dtype, self.shape, self.batch_dim)

    def get_type(self, canonical: str) -> GlobalTypeVar:
        """The data type, `tensor_t`."""
        return self.prelude.get_type_static(canonical, self.dtype, self.shape)

    def get_ctor(self, canonical: str) -> Constructor:
        """A constructor of the data type."""
        return self.prelude.get_tensor_ctor_static(canonical, self.dtype, self.shape)

    def register(self) -> None:
        """Define all operations: those that join and cut along the first axis where there is one."""
        shape = sizes(self.shape)
        forms = {"": shape, "stacked": (ANY, *shape), "expanded": (1, *shape)}
        template = OPERATIONS
        if shape:
            forms["rows"] = (ANY, *shape[1:])
            template += ALONG_FIRST
        fields: dict[str, str] = {}
        texts: dict[str, str] = {}
        for form, sized in forms.items():
            said = self.type_of(sized)
            fields |= {f"{form}_{k}" if form and k != "tensor" else form or k: v for k, v in said.items()}
            if said["tensor"] not in {v.name_hint for v in self.prelude.mod.type_definitions}:
                texts[said["tensor"]] = TYPE.format(**said)
        if f"tensor_array_{fields['end']}" not in self.prelude.mod:
            text = "".join(texts.values()) + template.format(**fields)
            self.prelude.mod.update(parse_module(text, "<tensor arrays>", init_module=self.prelude.mod))

    def type_of(self, shape: Shape) -> dict[str, str]:
        """The name of the data type for a shape, what names end in, and the tensor type."""
        end = ending(self.dtype, shape)
        tensor = self.prelude.get_name_static("tensor_t", self.dtype, shape)
        return {"tensor": tensor, "end": end, "data": tensor_text(self.dtype, shape)}
