r"""Regular expressions of consumer groups: which topics a pattern means (KIP-848).

Kafka evaluates them with RE2/J, and this module with RE2, of which RE2/J is a translation. Both match in linear time. A
pattern must match the whole name, and internal topics are matched as all others. There are differences:

- RE2 bounds the size of a compiled pattern, so `(a{500}){500}` is invalid. In RE2/J such patterns use up memory.
- RE2 accepts `\C` and two groups of one name. This module refuses them, as RE2/J does.
- Messages differ for an unmatched `)`, which is an internal error in RE2/J, and for `(?<=`, which it takes for a name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import re2
from attrs import field, frozen

from kafka_groups.errors import InvalidRegularExpressionError

__all__ = ["TopicPattern", "compile_pattern"]

_MAX_BYTES = 32_767
"""Kafka reads no longer strings."""

_MAX_REPETITIONS = 10_000
"""RE2 writes `a{1000}` out before it checks the size, so all numbers of a pattern together have a bound."""

_MAX_MEMORY = 1 << 20
"""Compiling takes up to the square of this. It suffices for 2,000 names and takes half a second at most."""

_MAX_SHOWN = 1_000

_TOKEN = re.compile(
    r"\\Q.*?(?:\\E|\Z) | (?P<any_byte>\\C) | \\x\{ | \\. |"
    r"\(\?P?<(?P<group>\w+)> | \{(?P<counts>\d{1,4}(?:,\d{0,4})?)\}",
    re.DOTALL | re.VERBOSE,
)

_KAFKAS_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "pattern too large",
    "invalid UTF-8": "invalid escape sequence",  # of a pattern that ends in the middle of one
}


@frozen
class TopicPattern:
    """A regular expression that was compiled."""

    text: str
    _compiled: Any = field(eq=False, repr=False)

    def matching(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the names that the pattern matches as a whole."""
        return (name for name in names if self._compiled.fullmatch(name) is not None)


def compile_pattern(text: str) -> TopicPattern:
    """Compile a regular expression.

    Raises:
        InvalidRegularExpressionError: It is invalid or too large.
    """
    problem = _problem(text)
    if problem is None:
        try:
            return TopicPattern(text, re2.compile(text, options=_options()))
        except re2.error as error:
            problem = error.args[0].decode("utf-8", "replace").partition(": ")[0]
    raise InvalidRegularExpressionError(
        f"SubscribedTopicRegex `{_shown(text)}` is not a valid regular expression: "
        f"{_KAFKAS_WORDS.get(problem, problem)}."
    )


def _problem(text: str) -> str | None:
    """What is wrong with a pattern that RE2 might accept."""
    tokens = list(_TOKEN.finditer(text))
    groups = Counter(token["group"] for token in tokens if token["group"])
    if len(text.encode()) > _MAX_BYTES or sum(map(_repetitions, tokens)) > _MAX_REPETITIONS:
        return "pattern too large"
    if any(token["any_byte"] for token in tokens):
        return "invalid escape sequence"
    return "duplicate capture group name" if max(groups.values(), default=1) > 1 else None


def _repetitions(token: re.Match[str]) -> int:
    return max(int(number or 0) for number in (token["counts"] or "").split(","))


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    return options


def _shown(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
