"""The log of a server: lines for people, or JSON for machines, on standard error."""

import json
import logging
import sys
from datetime import UTC, datetime

logger = logging.getLogger("relay.serving")
FIELDS = ("model", "version", "status", "seconds", "joining", "reason", "address", "requests")
"""What records may say beside their text."""


class LogLine(logging.Formatter):
    """`time LEVEL text key=value …`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and a traceback below it if there is one."""
        fields = fields_of(record)
        line = f"{time_of(record)} {record.levelname} {record.getMessage()}"
        line += "".join([f" {key}={value}" for key, value in fields.items()])
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class LogJson(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The object."""
        found = {"time": time_of(record), "level": record.levelname.lower(), "message": record.getMessage()}
        found |= fields_of(record)
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return json.dumps(found, default=str)


def time_of(record: logging.LogRecord) -> str:
    """The time of a record, in UTC."""
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """What a record says beside its text."""
    return {key: getattr(record, key) for key in FIELDS if hasattr(record, key)}


def start_logs(form: str) -> None:
    """Write records of the server, and warnings of uvicorn, to standard error: `form` is `text` or `json`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogJson() if form == "json" else LogLine())
    for name, level in (("relay.serving", logging.INFO), ("uvicorn.error", logging.WARNING)):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(level)
