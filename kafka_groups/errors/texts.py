"""Texts of errors, for messages and headers. The classes of users may raise in `__str__`, or have texts without end."""

import re
import traceback
from collections.abc import Iterable

__all__ = [
    "GRANT_IT",
    "LONGEST_TEXT",
    "counted",
    "joined",
    "named",
    "place_of",
    "represented",
    "sentences",
    "shown",
    "text_of",
    "traceback_of",
]

LONGEST_TEXT = 2_000
"""The most characters of an error's text, and of a header of a dead letter."""

GRANT_IT = "Grant it: "
"""Stands before the command that grants a missing right, at the end of a text."""

_LONGEST_REPR = 500
_LONGEST_TRACE = 20_000

_ENDS = (".", "!", "?", "…")
"""The last characters of texts that need no full stop."""
_COMMAND_AT_END = re.compile(rf"{GRANT_IT}.*--operation [A-Z_]+\Z")


def named(error: BaseException) -> str:
    """Return the class and the text of an error, at most 2,000 characters. Without a text it is the class alone."""
    kind, text = type(error).__name__, text_of(error)
    return f"{kind}: {text}" if text else kind


def text_of(error: BaseException) -> str:
    """Return the text of an error, at most 2,000 characters."""
    return shown(error)


def shown(value: object) -> str:
    """Return the text of an error, or of what a program gives instead of a text; at most 2,000 characters."""
    try:
        text = str(value)
    except Exception as fault:  # whatever a user's class does there
        return f"its text cannot be shown, because str() of it raises {type(fault).__name__}"
    return _cut(text, LONGEST_TEXT)


def represented(value: object) -> str:
    """Return how an object of a program's class represents itself, at most 500 characters."""
    try:
        return _cut(repr(value), _LONGEST_REPR)
    except Exception as fault:  # whatever a user's class does there
        return f"<{type(value).__name__}, whose repr() raises {type(fault).__name__}>"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def sentences(*texts: str) -> str:
    """Join texts so that each ends with one full stop, such as an error's text and advice. Empty ones are left out."""
    *before, last = list(filter(None, map(str.strip, texts))) or [""]
    # A command that is to be copied ends as it is.
    return " ".join((*map(_ended, before), last if _COMMAND_AT_END.search(last) else _ended(last) if last else ""))


def _ended(text: str) -> str:
    return text if text.endswith(_ENDS) else f"{text}."


def counted(number: int, thing: str) -> str:
    """Return a number of things for a sentence, such as `1 record` and `2,000 records`."""
    return f"{number:,} {thing if number == 1 else _plural(thing)}"


def _plural(thing: str) -> str:
    if thing.endswith(("s", "ch")):
        return f"{thing}es"
    return re.sub(r"(?<![aeiou])y$", "ie", thing) + "s"


def place_of(error: BaseException) -> str:
    """Return the file, the line and the function in which an error was raised, as Python prints them; else nothing."""
    frames = traceback.extract_tb(error.__traceback__)
    return f'File "{frames[-1].filename}", line {frames[-1].lineno}, in {frames[-1].name}' if frames else ""


def traceback_of(error: BaseException) -> str:
    """Return an error with its traceback and its causes, as Python prints them, at most 20,000 characters."""
    try:
        return joined(traceback.TracebackException.from_exception(error).format())
    except Exception:  # of a user's class, which may do anything
        return f"{named(error)}\n"


def joined(lines: Iterable[str]) -> str:
    """Return the lines of a traceback or of a stack as one text, each at most 2,000 characters, 20,000 in all."""
    text = "".join(line if len(line) <= LONGEST_TEXT else f"{line[:LONGEST_TEXT]}…\n" for line in lines)
    if len(text) <= _LONGEST_TRACE:
        return text
    half = _LONGEST_TRACE // 2
    return f"{text[:half]}…\n  {len(text) - 2 * half} characters are left out here\n…{text[-half:]}"
