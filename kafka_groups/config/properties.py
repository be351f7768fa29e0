"""Reads properties files as Java clients do: `key=value`, comments, escapes, continued lines."""

import re

__all__ = ["parse_properties"]

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ENTRY = re.compile(r"(?P<key>(?:\\.|[^\\=:\s])*)\s*[=:]?\s*(?P<value>.*)", re.DOTALL)
_CONTINUED = re.compile(r"(?:^|[^\\])(?:\\\\)*\\$")


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
