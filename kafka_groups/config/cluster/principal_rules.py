"""Rules that turn the subject of a client's certificate into a name (`ssl.principal.mapping.rules`, KIP-371)."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from kafka_groups.config.readers import UnfitError, read_text

__all__ = ["DEFAULT_PRINCIPAL_RULES", "PrincipalRule", "PrincipalRules", "UnmappedNameError", "read_principal_rules"]

_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))[^\S\n]*(?:[,\n]|\s*$)")
_BETWEEN = re.compile(r"[\s,]*")
_JAVAS_GROUP = re.compile(r"\(\?<(?=[a-zA-Z])")
_REFERENCE = re.compile(r"\\(.)|\$(\d+)|\$\{(\w+)\}|([\\$])", re.DOTALL)
_CASES: Mapping[str, Callable[[str], str]] = MappingProxyType({"": str, "L": str.lower, "U": str.upper})

Part = str | int
"""Text, or the number of a group."""


class UnmappedNameError(ValueError):
    """No rule applies to the subject of a certificate."""


@frozen
class PrincipalRule:
    """One rule: a name that the pattern matches as a whole is replaced.

    Attributes:
        pattern: The pattern.
        replacement: What each match of the pattern becomes.
        case: `L` for lower case, `U` for upper case, or nothing.
    """

    pattern: re.Pattern[str]
    replacement: tuple[Part, ...]
    case: str = ""

    def apply(self, name: str) -> str | None:
        """Return the name's replacement, or None if the rule does not apply."""
        if self.pattern.fullmatch(name) is None:
            return None
        return _CASES[self.case](self.pattern.sub(self._replaced, name))

    def _replaced(self, found: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else found[part] or "" for part in self.replacement)


@frozen
class PrincipalRules:
    """Rules in the order in which they are tried.

    Attributes:
        text: The rules as they were written.
        rules: The rules. None stands for DEFAULT, which takes every name as it is.
    """

    text: str
    rules: tuple[PrincipalRule | None, ...] = field(eq=False, repr=False)

    def __str__(self) -> str:
        return self.text

    def name_of(self, subject: str) -> str:
        """Return the name that the first rule that applies gives to a subject, such as `CN=ann,O=Acme`.

        Raises:
            UnmappedNameError: No rule applies.
        """
        for rule in self.rules:
            name = subject if rule is None else rule.apply(subject)
            if name is not None:
                return name
        raise UnmappedNameError(f"No rule of {self.text!r} applies to {subject}")


DEFAULT_PRINCIPAL_RULES: Final = PrincipalRules("DEFAULT", (None,))
"""Every subject is the name, as it is."""


def read_principal_rules(value: object) -> PrincipalRules:
    """Read rules such as `RULE:^CN=([^,]+).*$/$1/L,DEFAULT`."""
    if isinstance(value, PrincipalRules):
        return value
    text = read_text(value)
    return PrincipalRules(text, tuple(_rules(text)))


def _rules(text: str) -> Iterator[PrincipalRule | None]:
    place = _end_of(_BETWEEN.match(text))
    while place < len(text):
        found = _RULE.match(text, place)
        if found is None:
            raise UnfitError(f"{text[place:]!r} does not begin with a rule")
        default, pattern, replacement, case = found.groups()
        yield None if default else _rule(pattern, replacement, case)
        place = _end_of(_BETWEEN.match(text, found.end()))


def _end_of(found: re.Match[str] | None) -> int:
    return 0 if found is None else found.end()


def _rule(pattern: str, replacement: str, case: str) -> PrincipalRule:
    try:
        compiled = re.compile(_JAVAS_GROUP.sub("(?P<", pattern))
    except re.error as error:
        raise UnfitError(f"the pattern {pattern!r} is not a regular expression of Python ({error})") from None
    return PrincipalRule(compiled, tuple(_parts(replacement, compiled)), case)


def _parts(replacement: str, pattern: re.Pattern[str]) -> Iterator[Part]:
    place = 0
    for found in _REFERENCE.finditer(replacement):
        yield replacement[place : found.start()]
        yield from _referred(found, pattern)
        place = found.end()
    yield replacement[place:]


def _referred(found: re.Match[str], pattern: re.Pattern[str]) -> Iterator[Part]:
    literal, digits, name, alone = found.groups()
    if literal is not None:
        yield literal
    elif digits is not None:
        yield from _numbered(digits, pattern.groups)
    elif name in pattern.groupindex:
        yield pattern.groupindex[name]
    else:
        raise UnfitError(f"the replacement has {name or alone!r}, which is not a group of the pattern")


def _numbered(digits: str, groups: int) -> Iterator[Part]:
    # As in Kafka, `$3` is text if there are only two groups, and `$10` is the first group and a zero.
    end = 1
    while end < len(digits) and int(digits[: end + 1]) <= groups:
        end += 1
    number = int(digits[:end])
    yield f"${digits}" if number > groups else number
    yield "" if number > groups else digits[end:]
