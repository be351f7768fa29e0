"""Frozen attrs classes whose fields are configuration keys: the key is the only place of name, default and bounds.

`setting(key)` makes the field; every way of building the class reads and checks its values. `KeyTable` finds the
field for whatever spelling of a key a user may have written.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
from attrs import field, frozen

from kafka_groups.config.keys import Key
from kafka_groups.config.suggestions import did_you_mean, near_names
from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.errors.texts import counted

__all__ = [
    "Gathered",
    "KeyTable",
    "collected",
    "gather",
    "is_secret",
    "missing_keys",
    "raise_together",
    "read_keys",
    "refused_key",
    "setting",
    "shown_value",
    "unknown_key",
]

_KEY = "kafka_groups.key"
_SECRET = re.compile(r"passw|secret|token|credential|jaas|\bkey\.pem|private", re.IGNORECASE)


def _read(value: object, field: "attrs.Attribute[Any]") -> object:
    key: Key = field.metadata[_KEY]
    return key.parse(value, named=field.name)


def _hidden(value: object) -> str:
    return "None" if value is None else "'[hidden]'"


def setting(key: Key) -> Any:
    """Return an attrs field for a key, with its default, reader and checks, hidden in reprs if it is a secret."""
    return attrs.field(
        default=attrs.NOTHING if key.required else key.default,
        converter=attrs.Converter(_read, takes_field=True),
        repr=_hidden if key.secret else True,
        metadata={_KEY: key},
    )


_MOST_UNKNOWN = 20
"""An error names so many unknown keys. Looking for the key that was meant takes time."""


class KeyTable:
    """The keys of a settings class, by attribute name, and by every spelling that users may write.

    Those that must be given come first, and those of a base class last.

    With `dotted_only` Kafka's own names are the only spelling, as in a request. With `prefix` the spellings are the
    dotted names and aliases behind the prefix, such as `producer.linger.ms`.
    """

    def __init__(self, settings_class: type[Any], *, dotted_only: bool = False, prefix: str | None = None) -> None:
        fields = [field for field in attrs.fields(settings_class) if _KEY in field.metadata]
        fields.sort(key=lambda field: not field.metadata[_KEY].required and 1 + field.inherited)
        self._keys: dict[str, Key] = {field.name: field.metadata[_KEY] for field in fields}
        if prefix is not None:
            self._by_spelling = dict(self._behind(prefix))
        elif dotted_only:
            self._by_spelling = {key.name: name for name, key in self._keys.items()}
        else:
            self._by_spelling = dict(self._spellings())

    def __iter__(self) -> Iterator[tuple[str, Key]]:
        return iter(self._keys.items())

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<KeyTable of {len(self._keys)} keys>"

    def key(self, attribute: str) -> Key:
        """Return the key of an attribute."""
        return self._keys[attribute]

    def attribute(self, spelling: str) -> str | None:
        """Return the attribute for a dotted name, an alias, or either with underscores; `None` if there is none."""
        return self._by_spelling.get(spelling)

    def by_name(self) -> dict[str, Key]:
        """Return the keys by dotted name."""
        return {key.name: key for key in self._keys.values()}

    def suggestion(self, spelling: str) -> str:
        """Return a sentence that names the closest keys in the same style, or says where all keys are listed."""
        near = self._near(spelling)
        if near:
            return did_you_mean(near)
        return "Remove it; the configuration reference lists all keys."

    def _near(self, spelling: str) -> list[str]:
        dotted = "." in spelling
        return near_names(spelling, [name for name in self._by_spelling if ("." in name) is dotted])

    def _behind(self, prefix: str) -> Iterable[tuple[str, str]]:
        for attribute, key in self._keys.items():
            for dotted in (key.name, *key.aliases):
                yield f"{prefix}.{dotted}", attribute

    def _spellings(self) -> Iterable[tuple[str, str]]:
        for attribute, key in self._keys.items():
            for dotted in (key.name, *key.aliases):
                yield dotted, attribute
                yield dotted.replace(".", "_"), attribute
        for attribute in self._keys:
            yield attribute, attribute


@frozen
class Gathered:
    """The values, unknown keys and errors found in a user's keys.

    Attributes:
        values: The values by attribute.
        unknown: The keys that the table does not have, with their values.
        problems: The errors of the other keys.
    """

    values: dict[str, Any] = field(factory=dict)
    unknown: list[tuple[str, object]] = field(factory=list)
    problems: list[KafkaGroupsError] = field(factory=list)


def gather(table: KeyTable, given: Iterable[tuple[str, object]]) -> Gathered:
    """Look up and read all keys. Problems are collected, so that a user sees all of them at once."""
    found = Gathered()
    spelt: dict[str, str] = {}
    for spelling, raw in given:
        attribute = table.attribute(spelling)
        if attribute is None:
            found.unknown.append((spelling, raw))
            continue
        with collected(found.problems):
            value = table.key(attribute).parse(raw, named=spelling)
            before = spelt.setdefault(attribute, spelling)
            if found.values.setdefault(attribute, value) != value:
                raise _given_twice(table.key(attribute), raw, found.values[attribute], spelling, before)
    return found


@contextmanager
def collected(problems: list[KafkaGroupsError]) -> Iterator[None]:
    """Add an error that the block raises to a list."""
    try:
        yield
    except KafkaGroupsError as problem:
        problems.append(problem)


def raise_together(problems: Sequence[KafkaGroupsError], whose: str) -> None:
    """Raise what was collected: a single error as it is, several as one with a line for each.

    Args:
        problems: The errors, of one class.
        whose: The owner of the configuration, such as "a share consumer".
    """
    if not problems:
        return
    if len(problems) == 1:
        raise problems[0] from None
    lines = "".join(f"\n  - {problem}" for problem in problems)
    raise type(problems[0])(f"The configuration of {whose} has {counted(len(problems), 'problem')}:{lines}") from None


def unknown_key(table: KeyTable, name: str, value: object, whose: str) -> str:
    """Return the message about a key that does not exist."""
    return f"Unknown configuration key {name!r} ({shown_value(name, value)}) for {whose}. {table.suggestion(name)}"


def refused_key(
    table: KeyTable, name: str, value: object, whose: str, advice: tuple[str, str] | None
) -> ConfigurationError:
    """Return the error about a key that a client does not have.

    Args:
        table: The client's keys.
        name: The key.
        value: Its value.
        whose: The owner of the configuration, such as "a share consumer".
        advice: The reason why the client does not have it, and what to do, each half a sentence; None if no client has
            it.
    """
    if advice is None:
        return ConfigurationError(unknown_key(table, name, value, whose))
    why, remedy = advice
    shown = shown_value(name, value)
    return ConfigurationError(
        f"Unsupported configuration key {name!r} ({shown}): {why}. {remedy[0].upper()}{remedy[1:]}."
    )


def missing_keys(table: KeyTable, given: Iterable[tuple[str, object]]) -> list[KafkaGroupsError]:
    """Return an error for each required key that was not given."""
    named = {table.attribute(name) for name, _ in given}
    return [
        ConfigurationError(f"Missing configuration key {attribute} ({key.name}): use {key.allowed}.")
        for attribute, key in table
        if key.required and attribute not in named
    ]


def read_keys(
    table: KeyTable, given: Iterable[tuple[str, object]], whose: str, error: Callable[[str], KafkaGroupsError]
) -> dict[str, Any]:
    """Return the given values by attribute.

    Raises:
        KafkaGroupsError: Keys are unknown or values are bad; one error, made by `error`, names all of them.
    """
    found = gather(table, given)
    unknown = [error(unknown_key(table, name, value, whose)) for name, value in found.unknown[:_MOST_UNKNOWN]]
    if len(found.unknown) > len(unknown):
        unknown.append(error(f"{len(found.unknown) - len(unknown)} more configuration keys are unknown."))
    raise_together([*unknown, *found.problems], whose)
    return found.values


def _given_twice(key: Key, raw: object, value: object, spelling: str, before: str) -> KafkaGroupsError:
    shown = "another value" if key.secret else repr(value)
    also = "the key is given twice, first" if spelling == before else f"the same key is given as {before}"
    return key.problem(raw, f"{also} with {shown}", named=spelling, remedy="Give the key once")


def shown_value(name: str, value: object) -> str:
    """Return an unknown key's value for a message, unless its name suggests a secret."""
    return "a hidden value" if is_secret(name) else repr(value)


def is_secret(name: str) -> bool:
    """Return whether the name of an unknown key suggests that its value is a secret."""
    return _SECRET.search(name) is not None
