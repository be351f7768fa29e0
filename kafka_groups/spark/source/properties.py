"""Read properties files as Java clients do: `key=value`, comments, escapes, continued lines."""

import re
from pathlib import Path

from kafka_groups.errors import ConfigurationError

__all__ = ["parse_properties", "read_properties"]

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ENTRY = re.compile(r"(?P<key>(?:\\.|[^\\=:\s])*)\s*[=:]?\s*(?P<value>.*)", re.DOTALL)
_CONTINUED = re.compile(r"(?:^|[^\\])(?:\\\\)*\\$")


def read_properties(path: str) -> dict[str, str]:
    """Return the entries of a properties file.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"configFile is {path!r}: it cannot be read on this host: {error}; it must be on the host of the driver,"
            " in UTF-8, and readable by its user"
        ) from error
    return parse_properties(text)


def parse_properties(text: str) -> dict[str, str]:
    """Return the entries of a properties file's text; the last of equal keys wins."""
    entries: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _ENTRY.fullmatch(line)
        if match is not None:
            entries[_unescaped(match["key"])] = _unescaped(match["value"])
    return entries


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    carried = ""
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not carried and (not line or line[0] in "#!"):
            continue
        if _CONTINUED.search(line):
            carried += line[:-1]
            continue
        lines.append(carried + line)
        carried = ""
    return [*lines, carried] if carried else lines


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _ESCAPES.get(escaped, escaped)
