"""References to metadata: constants and such that stand at the end of a text or in a file beside it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from relay.diagnostic import RelayError
from relay.ir.expr import Constant
from relay.text.cursor import ParseError
from relay.text.parse_rules import Rules

Entries = dict[str, list[Any]]
_HINT = "the section `#[metadata]` stands at the end of the file it belongs to"


class Metadata(Rules):
    """The rules of references to metadata."""

    meta: Entries | None = None
    """The entries by kind, once they are read."""
    weights: Callable[[], list[Constant]] | None = None
    """What reads the constants of a text without a section of its own."""
    lacks_metadata = False
    """Whether the metadata could not be read, which is said once."""

    def metadata_object(self, i: int) -> Any:
        """`meta[Kind][index]`, of which token `i` is the `meta`; None where the metadata is broken."""
        self.take("[")
        key_at = self.i
        if self.kinds[key_at] not in ("NAME", "STRING"):
            self.expected("the name of a kind of metadata")
        self.i += 1
        key = self.string(key_at) if self.kinds[key_at] == "STRING" else self.texts[key_at]
        self.take("]")
        self.take("[")
        index_at = self.take("NUMBER", what="an index")
        end = self.take("]")
        entries = self._metadata(i).get(key, [])
        text = self.texts[index_at]
        if self.lacks_metadata:
            return None
        if not (text.isdigit() and len(text) < 10 and int(text) < len(entries)):
            what = f"{len(entries)} entries `{key}`" if entries else f"no `{key}`"
            hint = _HINT if self.weights is None else "text and weights file belong together: save both again"
            self.fault("missing-metadata", f"the metadata has {what}", i, to=end, hint=hint)
        return entries[int(text)]

    def is_attributes(self, i: int) -> bool:
        """Whether attributes of a call stand here: `meta[relay.attrs.DenseAttrs][0]`."""
        return (
            self.strict
            and self.texts[i] == "meta"
            and self.kinds[i + 1] == "["
            and self.texts[i + 2].startswith("relay.attrs.")
        )

    def stored_attributes(self, i: int, op: str) -> dict[str, Any]:
        """Attributes of a call of an operator that are kept as metadata."""
        from relay.text.json_read import StoredAttributes

        found = self.metadata_object(i)
        try:
            return found.of(op) if isinstance(found, StoredAttributes) else {}
        except RelayError as error:
            raise self.located(error, i, self.i - 1) from None

    def _metadata(self, i: int) -> Entries:
        """The metadata of this text, read at its first use."""
        if self.meta is None:
            try:
                self.meta = self._read_metadata(i)
            except RelayError as error:
                self.meta, self.lacks_metadata = {}, True
                d = error.diagnostics[0]
                span = d.span or self.tokens.metadata_span or self.span(i, self.i - 1)
                raise ParseError(replace(d, span=span), i) from None
        return self.meta

    def _read_metadata(self, i: int) -> Entries:
        if self.tokens.metadata is None:
            if self.weights is not None:
                return {"relay.Constant": [*self.weights()]}
            self.fault("missing-metadata", "the text has no metadata", i, hint=_HINT)
        from relay.text.json_format import load_json

        found = load_json(self.tokens.metadata)
        entries: Mapping[Any, Any] = cast("dict[Any, Any]", found) if isinstance(found, dict) else {}
        return {key: value for key, value in entries.items() if isinstance(value, list)}
