"""Operands for functions of PyTorch, the same at each run, and a function as a module."""

import torch
from torch import nn

G = torch.Generator().manual_seed(0)


def f(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=G)


def p(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=G) * 0.8 + 0.1


def i(*shape: int, below: int = 5, least: int = 0) -> torch.Tensor:
    return torch.randint(least, below, shape, generator=G)


def b(*shape: int) -> torch.Tensor:
    return f(*shape) > 0


class Calling(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *xs):
        return self.function(*xs)
