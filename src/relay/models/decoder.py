"""The weights of a decoder, as `llama.relay` takes them."""

from relay.models.settings import NO_WINDOW, Settings
from relay.models.source import Source, wrong_shape
from relay.models.values import Made, made

NORMS = {"RootMeanSquare", "OffsetRootMeanSquare"}


class Decoder:
    """A model that is being put together of the tensors in a file."""

    def __init__(self, settings: Settings, source: Source) -> None:
        """Nothing is read yet."""
        self.s, self.source = settings, source
        self.feed_size = 0
        """The size between the two products of a network; 0 before it is known."""

    def value(self) -> Made:
        """All weights: a `Model` (`model-file`, `model-unsupported`)."""
        s, source = self.s, self.source
        tokens = source.matrix("token_embd", s.vocabulary, s.width)
        head = source.matrix("output", s.vocabulary, s.width) if source.has("output") else tokens
        places = made("Nowhere")
        if source.has("position_embd"):
            places = made("Learned", source.matrix("position_embd", s.context, s.width))
        norm = self.norm("token_embd_norm", s.width) if source.has("token_embd_norm") else made("Same")
        cap = made("Uncapped") if s.cap is None else made("CappedAt", float(s.cap))
        layers = [self.layer(i) for i in range(s.layers)]
        embedding = made("Embedding", tokens, places, float(s.embedding_scale), norm)
        return made("Model", embedding, layers, self.norm("output_norm", s.width), head, cap)

    def sizes(self) -> dict[str, int]:
        """The dimensions of `Model`, in order; once there is a value."""
        s = self.s
        return {
            "vocab": s.vocabulary, "d": s.width, "kv": s.shared_heads, "group": s.group, "size": s.head_size,
            "half": s.turned // 2, "f": self.feed_size,
        }  # fmt: skip

    def norm(self, name: str, size: int) -> Made:
        """A norm; the data as it is, if the file has no such."""
        s = self.s
        weight = self.source.vector(name, size)
        if weight is None:
            return made("Same") if name not in ("output_norm",) else self.source.need(name)
        if s.norm in NORMS:
            return made(s.norm, weight, s.epsilon)
        bias = self.source.vector(name, size, ".bias")
        return made(s.norm, weight, weight * 0 if bias is None else bias, s.epsilon)

    def layer(self, i: int) -> Made:
        """One layer."""
        width = self.s.width

        def norm(name: str) -> Made:
            return self.norm(f"blk.{i}.{name}", width)

        return made(
            "Layer", made(self.s.order), norm("attn_norm"), self.attention(i), norm("post_attention_norm"),
            norm("ffn_norm"), self.feed(i), norm("post_ffw_norm"),
        )  # fmt: skip

    def attention(self, i: int) -> Made:
        """The attention of a layer."""
        s, at = self.s, f"blk.{i}."
        heads, shared = s.heads * s.head_size, s.shared_heads * s.head_size
        if self.source.has(at + "attn_qkv"):
            kind = "Joined" if s.inputs == "Separate" else s.inputs
            inputs = made(kind, self.source.matrix(at + "attn_qkv", heads + 2 * shared, s.width))
        else:
            parts = (("attn_q", heads), ("attn_k", shared), ("attn_v", shared))
            inputs = made("Separate", *[self.source.matrix(at + name, rows, s.width) for name, rows in parts])
        norms = [self.norm(at + name, s.head_size) for name in ("attn_q_norm", "attn_k_norm")]
        scores = made("Scaled")
        if s.head_cap is not None:
            scores = made("Capped", float(s.head_cap))
        elif s.slopes is not None:
            scores = made("Sloped", s.slopes)
        scale = s.head_size**-0.5 if s.scale is None else s.scale
        window = s.windows[i] if s.windows else NO_WINDOW
        output = self.source.matrix(at + "attn_output", s.width, heads)
        return made("Attention", inputs, *norms, s.positions[i], scale, scores, window, output)

    def feed(self, i: int) -> Made:
        """The network of a layer."""
        s, at = self.s, f"blk.{i}."
        if s.experts:
            router = self.source.matrix(at + "ffn_gate_inp", s.experts, s.width)
            experts = [self.expert(i, e) for e in range(s.experts)]
            return made("Experts", s.activates, s.chosen, s.normalised, router, experts)
        if not s.is_gated:
            by_columns = self.source.by_columns(self.source.need(at + "ffn_up"))
            rows = self.rows(at + "ffn_up", axis=1 if by_columns else 0)
            up = self.source.matrix(at + "ffn_up", rows, s.width)
            return made("Plain", s.activates, up, self.source.matrix(at + "ffn_down", s.width, rows))
        return made("One", s.activates, self.gated(at))

    def rows(self, name: str, axis: int = 0, parts: int = 1) -> int:
        """The size between the two products, of which a matrix has the first (`model-file`)."""
        shape = self.source.need(name).shape
        if len(shape) != 2:
            wrong_shape(name, shape, (self.feed_size * parts, self.s.width))
        self.feed_size = self.feed_size or shape[axis] // parts
        return self.feed_size

    def gated(self, at: str) -> Made:
        """A gated network; of gate and `up` in one matrix, too."""
        source, width = self.source, self.s.width
        if not source.has(at + "ffn_gate"):
            fused = "ffn_gate_up" if source.has(at + "ffn_gate_up") else "ffn_up"
            rows = self.rows(at + fused, parts=2)
            source.check(at + fused, source.need(at + fused), (2 * rows, width))
            parts = [source.part(at + fused, i, rows, width) for i in (0, rows)]
        else:
            rows = self.rows(at + "ffn_gate")
            parts = [source.matrix(at + name, rows, width) for name in ("ffn_gate", "ffn_up")]
        return made("Gated", *parts, source.matrix(at + "ffn_down", width, rows))

    def expert(self, i: int, e: int) -> Made:
        """One expert."""
        at, source, width = f"blk.{i}.", self.source, self.s.width
        one = [f"{at}{name}.expert.{e}" for name in ("ffn_gate", "ffn_up", "ffn_down")]
        rows = self.rows(one[0])
        shapes = ((rows, width), (rows, width), (width, rows))
        return made("Gated", *[source.matrix(n, *shape) for n, shape in zip(one, shapes, strict=True)])
