"""PyTorch modules and exported programs: `from_pytorch`, and `converts` to add an operator."""

from relay.frontend.torch.api import from_pytorch as from_pytorch
from relay.frontend.torch.program import TorchProgram as TorchProgram
from relay.frontend.torch.registry import converts as converts
