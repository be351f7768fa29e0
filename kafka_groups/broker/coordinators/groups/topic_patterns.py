r"""Regular expressions of consumer groups: which topics a pattern means (KIP-848).

Kafka evaluates them with RE2/J, and this module with RE2, of which RE2/J is a translation. Both match in linear time. A
pattern must match the whole name, and internal topics are matched as all others. There are differences:

- RE2 bounds the size of a compiled pattern, so `(a{500}){500}` is invalid. In RE2/J such patterns use up memory.
- Patterns that take long to compile or to match are too large: everybody waits for this broker, while Kafka has other
  threads. What remains takes some ten milliseconds at most, and so does a name as long as names can be.
- RE2 accepts `\C` and two groups of one name. This module refuses them, as RE2/J does.
- Messages differ for an unmatched `)`, which is an internal error in RE2/J, and for `(?<=`, which it takes for a name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import attrgetter
from typing import Any

import re2
from attrs import field, frozen

from kafka_groups.errors import InvalidRegularExpressionError

__all__ = ["TopicPattern", "compile_pattern"]

_MAX_BYTES = 32_767
"""Kafka reads no longer strings."""

_MAX_TOKENS = 13_000
"""A pattern has fewer parts other than literals. To find more takes longer than to compile a pattern."""

_MAX_REPETITIONS = 2_000
"""RE2 writes `a{1000}` out before it checks the size, so all numbers of a pattern together have a bound."""

_MAX_MEMORY = 1 << 20
"""The memory limit of a pattern, in bytes. It suffices for 2,000 names."""

_MAX_COST_US = 25_000
"""The longest time to compile a pattern, which blocks the broker."""

_COSTS_US = {
    "property": 200, "named": 200, "class": 40, "perl": 10, "quantifier": 10, "counts": 10, "simple": 2, "any": 2
}  # fmt: skip
"""The highest cost of each part of a pattern. Many quantifiers cost more. Named groups slow matching."""

_COST_OF_CASE = 4
"""The factor by which `(?i)` increases these costs."""

_CHARACTERS_AT_ONCE = 6
"""The number of literals that take one microsecond."""

_MAX_INSTRUCTIONS = 8_000
"""The largest compiled pattern. Each character of a name may go through all instructions."""

_STEPS_AT_ONCE = 70
"""A character of a name, times so many instructions of a compiled pattern, takes a microsecond at most.

Patterns of some thousand instructions need the longest for each: RE2 makes new states for every name, then gives up.
"""

_INSTRUCTIONS_AT_ONCE = 3
"""The number of instructions that are compiled in a microsecond. `{1000}` makes many of few characters."""

_MAX_SHOWN = 1_000

_TOKEN = re.compile(
    r"""
    \\Q.*?(?:\\E|\Z)
    | (?P<any_byte> \\C)
    | (?P<property> \\[pP] | \[:\^?\w+:\])
    | (?P<perl> \\[dDsSwW])
    | \\x\{ | \\.
    | (?P<named> \(\?P?<(?P<group>\w+)>)
    | (?P<case> \(\?[a-zA-Z]*i)
    | \(\?
    | (?P<counts> \{(?P<numbers>\d{1,4}(?:,\d{0,4})?)\})
    | (?P<simple> \[[^]^\[\\\x80-\U0010FFFF][^]\[\\\x80-\U0010FFFF]*\])
    | (?P<class> \[)
    | (?P<any> \.)
    | (?P<quantifier> [*+?])
    """,
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
    """A regular expression that was compiled.

    Attributes:
        text: The expression.
        cost_us: The highest cost of compiling it.
    """

    text: str
    cost_us: int = field(eq=False, repr=False)
    _compiled: Any = field(eq=False, repr=False)

    def matches(self, name: str) -> bool:
        """Return whether the pattern matches the whole name."""
        return self._compiled.fullmatch(name) is not None

    def cost_of_us(self, name: str) -> int:
        """Return how long it takes at most to match a name."""
        return 1 + self.steps_of(name) // _STEPS_AT_ONCE

    def steps_of(self, name: str) -> int:
        """Return how many instructions it takes at most to match a name."""
        return len(name) * int(self._compiled.programsize)


def compile_pattern(text: str) -> TopicPattern:
    """Compile a regular expression.

    Raises:
        InvalidRegularExpressionError: It is invalid or too large.
    """
    # A pattern is measured before RE2 compiles it, because compiling a hostile one blocks all clients of this broker.
    tokens = list(islice(_TOKEN.finditer(text[: _MAX_BYTES + 1]), _MAX_TOKENS))
    kinds = Counter(map(attrgetter("lastgroup"), tokens))
    cost_us = _cost_us(text, kinds)
    is_large = cost_us > _MAX_COST_US or len(tokens) == _MAX_TOKENS
    problem = "pattern too large" if is_large else _problem(text, tokens, kinds)
    if problem is None:
        try:
            compiled = re2.compile(text, options=_options())
        except re2.error as error:
            problem = error.args[0].decode("utf-8", "replace").partition(": ")[0]
        else:
            size = int(compiled.programsize)
            # Only the compiled size tells how long matching takes: short patterns may have large programs.
            if size <= _MAX_INSTRUCTIONS:
                return TopicPattern(text, cost_us + size // _INSTRUCTIONS_AT_ONCE, compiled)
            problem = "pattern too large"
    raise InvalidRegularExpressionError(
        f"SubscribedTopicRegex `{_shown(text)}` is not a valid regular expression: "
        f"{_KAFKAS_WORDS.get(problem, problem)}."
    )


def _problem(text: str, tokens: Iterable[re.Match[str]], kinds: Mapping[str | None, int]) -> str | None:
    """Return what is wrong with a pattern that RE2 might accept, or None."""
    counts = sum(max(int(number or 0) for number in numbers.split(",")) for numbers in _all(tokens, "numbers"))
    if len(text.encode()) > _MAX_BYTES or counts > _MAX_REPETITIONS:
        return "pattern too large"
    # RE2 would accept both, but members could not move to Kafka, whose RE2/J does not.
    if kinds["any_byte"]:
        return "invalid escape sequence"
    groups = Counter(_all(tokens, "group"))
    return "duplicate capture group name" if max(groups.values(), default=1) > 1 else None


def _all(tokens: Iterable[re.Match[str]], name: str) -> Iterator[str]:
    return (token[name] for token in tokens if token[name])


def _cost_us(text: str, kinds: Mapping[str | None, int]) -> int:
    cost_us = sum(kinds[kind] * each for kind, each in _COSTS_US.items())
    return len(text) // _CHARACTERS_AT_ONCE + (cost_us * _COST_OF_CASE if kinds["case"] else cost_us)


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True  # each group would make matching slower
    options.max_mem = _MAX_MEMORY
    return options


def _shown(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
