"""Modules that log tracebacks have them cut: an exception of the user's code may have megabytes of text."""

import re
from pathlib import Path

import pytest

import kafka_groups

PACKAGE = Path(kafka_groups.__file__).parent
TRACEBACK = re.compile(r"\.exception\(\s*f?\"|exc_info=|log_end\(")
LOGGER_OF_OTHERS = {"net/rate_limited_log.py", "client/engine.py", "errors/log_tracebacks.py"}
"""Files that log with the loggers of others: of their callers, and those of `client/loggers.py`."""


def is_uncut(source: str) -> bool:
    """Whether a module logs tracebacks as they are."""
    return TRACEBACK.search(source) is not None and re.search(r"^cut_tracebacks\(", source, re.MULTILINE) is None


def test_each_logger_of_tracebacks_cuts_them() -> None:
    paths = (path for path in PACKAGE.rglob("*.py") if str(path.relative_to(PACKAGE)) not in LOGGER_OF_OTHERS)
    assert [str(path.relative_to(PACKAGE)) for path in paths if is_uncut(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "call", ['_log.exception("It failed")', '_log.error(\n    "It failed", exc_info=error\n)', "log_end(_log, what, e)"]
)
def test_a_logger_that_does_not_is_found(call: str) -> None:
    assert is_uncut(call)
    assert not is_uncut(f"cut_tracebacks(_log)\n\n{call}")
