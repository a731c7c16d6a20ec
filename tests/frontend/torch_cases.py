"""Functions of PyTorch, a few of each family, with inputs: what the tests of its operators run."""

from frontend.torch_complex import COMPLEX, FOURIER, FREQUENCIES, SCAN
from frontend.torch_factors import FACTORS
from frontend.torch_layers import CONVOLUTION, NORMALIZATION
from frontend.torch_numbers import ARITHMETIC, ELEMENTWISE, LINEAR, REDUCTION
from frontend.torch_places import CREATE, INDEX, SHAPE

FAMILIES = {
    "elementwise": ELEMENTWISE,
    "arithmetic": ARITHMETIC,
    "linear": LINEAR,
    "factors": FACTORS,
    "shape": SHAPE,
    "index": INDEX,
    "create": CREATE,
    "reduction": REDUCTION,
    "normalization": NORMALIZATION,
    "convolution": CONVOLUTION,
    "fourier": FOURIER,
    "complex": COMPLEX,
    "frequencies": FREQUENCIES,
    "scan": SCAN,
}
