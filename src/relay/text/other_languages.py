"""What people write who come from other languages, and how it is written here: mostly hints of the parser."""

from relay.op.registry import registry

SHORT_NAMES = {"mul": "multiply", "sub": "subtract", "div": "divide"}
"""Other names of operators, which the full language takes."""
OPERATORS = {
    "pow": "power", "neg": "negative",
    "eq": "equal", "concat": "concatenate", "matmul": "nn.matmul", "dot": "nn.matmul",
    "linear": "nn.dense", "array": "Constant", "true": "True", "false": "False",
    "cat": "concatenate", "vstack": "concatenate", "hstack": "concatenate",
    "flatten": "nn.batch_flatten", "unsqueeze": "expand_dims", "expand": "broadcast_to",
    "permute": "transpose", "swapaxes": "transpose", "nonzero": "argwhere", "select": "where",
    "tril": "trilu", "triu": "trilu",
    "rand": "random.uniform", "randn": "random.normal",
}  # fmt: skip
"""What other languages call the operators, where the spelling is not near enough."""
_CONDITIONAL = "a conditional is `if (c) { … } else if (d) { … } else { … }`"
_FUNCTION = "a function is `fn (%x) { … }`"
_IDENTITY = "the identity of `n` rows is `one_hot(arange(n, dtype=int64), 1.0, 0.0, depth=n)`"
_LOOP = 'a loop is a function that calls itself, or `@while_loop`, `@fori`, `@scan` of "std/loop"'
_NO_RESULT = "no result is `()`"
_PRINT = '`trace("x is {}", %x)` writes values while the program runs; `relay run` prints the result'
WORDS = {
    "and": "write `a && b` for conditions, `logical_and(a, b)` for tensors",
    "or": "write `a || b` for conditions, `logical_or(a, b)` for tensors",
    "not": "write `!a` for a condition or a tensor",
    "elif": _CONDITIONAL, "elseif": _CONDITIONAL, "then": _CONDITIONAL,
    "for": _LOOP, "while": _LOOP, "loop": _LOOP,
    "print": _PRINT, "println": _PRINT,
    "lambda": _FUNCTION, "function": _FUNCTION, "func": _FUNCTION,
    "var": "a binding is `let %x = e;`", "const": "a binding is `let %x = e;`",
    "eye": _IDENTITY, "identity": _IDENTITY,
    "square": "a square is `%x * %x`, or `%x ** 2.0`",
    "norm": "a norm is `sqrt(sum(%x * %x))`",
    "head": 'the first element of a list is `@hd(%l)` of "std/list"',
    "tail": 'a list without its first element is `@tl(%l)` of "std/list"',
    "fold": 'lists are folded by `@foldl` and `@foldr` of "std/list"',
    "str": 'a number is written as a string by `@to_string` of "std/string"',
    "len": "the first size of a tensor is `shape_of(%x)[0]`, of a list `@length(%l)`",
    "from": 'definitions of another module: `import "std/list"`',
    "import": 'definitions of another module: `import "std/list"`',
    "None": _NO_RESULT, "null": _NO_RESULT,
    "switch": "write `match (e) { pattern => e, … }`",
    "case": "a clause of a `match` is `pattern => e`",
    "class": "a data type is `type T { Constructor(A, B), … }`",
    "struct": "a data type is `type T { Constructor(A, B), … }`",
}  # fmt: skip
"""Words of other languages that are not words here."""
CONVERSIONS = {
    name: f"another dtype is `cast(%x, dtype={dtype})`"
    for name, dtype in (("int", "int32"), ("float", "float32"))
}
"""Types that convert where they are called as functions; as types they are in `TYPES`."""
TYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "str": "string",
}
"""What other languages call the types of numbers."""
MEMBERS = {
    "shape": "shape_of", "size": "ndarray_size", "T": "transpose", "astype": "cast", "dot": "nn.matmul",
    "matmul": "nn.matmul", "view": "reshape", "permute": "transpose",
}  # fmt: skip
"""What other languages call operators as attributes and methods of a tensor."""
MEMBER_FORMS = {
    "shape": "`shape_of(%x)`, of which `shape_of(%x)[0]` is the first size",
    "dot": "`%a @ %b`", "matmul": "`%a @ %b`",
}  # fmt: skip
"""What is written instead, where that is more than the operator."""
INDEXING = "parts of a tensor are `%x[i]` and `%x[1:3]`, of a tuple `%t.0`, of a list `@nth(%l, i)`"
TOKENS = {
    "=>": _FUNCTION,
    "->": "a function type is `fn(A, B) -> C`",
    "[": INDEXING,
    "|": "the logical operator is `||`; bits are combined with `bitwise_or(a, b)`",
}
"""What other languages use a token for that is not expected here."""

FLOOR_DIVISION = "`//` begins a comment; `floor_divide(a, b)` rounds down, and so does `/` of dimensions"


def member_hint(name: str) -> str:
    """The operator that is meant by a member of a tensor, `%x.sum`; the empty text if there is none."""
    operator = MEMBERS.get(name) or next((n for n in (name, f"nn.{name}") if n in registry), None)
    form = MEMBER_FORMS.get(name, f"`{operator}(…)`")
    return f"operators are functions: write {form}" if operator else ""
