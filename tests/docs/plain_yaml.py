"""Reads the part of YAML that the manifests in `examples/kubernetes` use, so that their tests need no other library.

These are mappings and lists in blocks, lists in brackets, plain and double-quoted text, numbers, true and false, empty
mappings, literal blocks and comments on lines of their own. Anything else is a ValueError.
"""

import json
import re
from collections.abc import Iterator

from attrs import define

__all__ = ["Node", "documents"]

Node = dict[str, "Node"] | list["Node"] | str | int | bool

_ENTRY = re.compile(r"(?P<key>[\w./-]+):(?: (?P<rest>.*))?")
_PLAIN = re.compile(r"[A-Za-z0-9/][\w./:=-]*(?: [\w./:=-]+)*")
_WORDS: dict[str, Node] = {"true": True, "false": False, "{}": {}}


def documents(text: str) -> list[Node]:
    """Return the documents of a file.

    Raises:
        ValueError: The text is not of the part of YAML that this module reads. The message has the line.
    """
    return [_document(part) for part in re.split(r"^---\n", text, flags=re.MULTILINE)]


def _document(text: str) -> Node:
    lines = _Lines(list(_indented(text)))
    node = _block(lines, 0)
    if lines.has_more:
        raise ValueError(f"wrong indentation: {lines.text!r}")
    return node


def _indented(text: str) -> Iterator[tuple[int, str]]:
    for line in text.splitlines():
        content = line.lstrip(" ")
        if content and not content.startswith("#"):
            yield len(line) - len(content), content


@define
class _Lines:
    """The lines of a document, each with its indentation, from the next one on."""

    lines: list[tuple[int, str]]

    @property
    def has_more(self) -> bool:
        return bool(self.lines)

    @property
    def indent(self) -> int:
        return self.lines[0][0] if self.lines else -1

    @property
    def text(self) -> str:
        return self.lines[0][1]

    def take(self) -> str:
        return self.lines.pop(0)[1]

    def replace(self, indent: int, text: str) -> None:
        self.lines[0] = (indent, text)


def _block(lines: _Lines, indent: int) -> Node:
    return _list(lines, indent) if lines.text.startswith("- ") else _mapping(lines, indent)


def _list(lines: _Lines, indent: int) -> list[Node]:
    items: list[Node] = []
    while lines.indent == indent and lines.text.startswith("- "):
        rest = lines.text.removeprefix("- ")
        if _ENTRY.fullmatch(rest):
            lines.replace(indent + 2, rest)
            items.append(_mapping(lines, indent + 2))
        else:
            lines.take()
            items.append(_scalar(rest))
    return items


def _mapping(lines: _Lines, indent: int) -> dict[str, Node]:
    found: dict[str, Node] = {}
    while lines.indent == indent and not lines.text.startswith("- "):
        line = lines.take()
        entry = _ENTRY.fullmatch(line)
        if entry is None or entry["key"] in found:
            raise ValueError(f"not a new key with a value: {line!r}")
        found[entry["key"]] = _value(lines, indent, entry["rest"])
    return found


def _value(lines: _Lines, indent: int, rest: str | None) -> Node:
    if rest == "|":
        return "".join(f"{lines.take()}\n" for _ in iter(lambda: lines.indent > indent, False))
    if rest is not None:
        return _scalar(rest)
    if lines.indent <= indent:
        raise ValueError(f"a key without a value, before {lines.text if lines.has_more else 'the end'!r}")
    return _block(lines, lines.indent)


def _scalar(text: str) -> Node:
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("[") and text.endswith("]"):
        return [_scalar(each) for each in text[1:-1].split(", ")]
    if re.fullmatch(r'"[^"\\]*"', text):
        return str(json.loads(text))
    if re.fullmatch(r"0|[1-9]\d*", text):
        return int(text)
    if not _PLAIN.fullmatch(text) or ": " in text:
        raise ValueError(f"not a plain value: {text!r}")
    return text
