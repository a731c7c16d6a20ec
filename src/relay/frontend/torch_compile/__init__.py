"""The backend of `torch.compile(model, backend="relay")`, and `graphs`, which tells what was compiled."""

from relay.frontend.torch_compile.backend import relay_backend as relay_backend
from relay.frontend.torch_compile.records import CompiledGraphs as CompiledGraphs
from relay.frontend.torch_compile.records import GraphRecord as GraphRecord
from relay.frontend.torch_compile.records import forget_graphs as forget_graphs
from relay.frontend.torch_compile.records import graphs as graphs
