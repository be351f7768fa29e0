"""Frozen attrs classes whose fields are configuration keys: the key is the only place of name, default and bounds.

`setting(key)` makes the field; every way of building the class reads and checks its values. `KeyTable` finds the
field for whatever spelling of a key a user may have written.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from kafka_groups.config.keys import Key

__all__ = ["KeyTable", "UnknownKeyError", "gather", "setting", "shown_value"]

_KEY = "kafka_groups.key"
_SECRET = re.compile(r"passw|secret|token|credential|jaas|\bkey\.pem|private", re.IGNORECASE)


def _read(value: object, field: "attrs.Attribute[Any]") -> object:
    key: Key = field.metadata[_KEY]
    return key.parse(value, named=field.name)


def _hidden(value: object) -> str:
    return "None" if value is None else "'[hidden]'"


def setting(key: Key) -> Any:
    """An attrs field for the key: with its default, read and checked by it, hidden in reprs if it is a secret."""
    return attrs.field(
        default=attrs.NOTHING if key.required else key.default,
        converter=attrs.Converter(_read, takes_field=True),
        repr=_hidden if key.secret else True,
        metadata={_KEY: key},
    )


class KeyTable:
    """The keys of a settings class, by attribute name, and by every spelling that users may write.

    With `dotted_only` Kafka's own names are the only spelling, as in a request.
    """

    def __init__(self, settings_class: type[Any], *, dotted_only: bool = False) -> None:
        self._keys: dict[str, Key] = {
            field.name: field.metadata[_KEY] for field in attrs.fields(settings_class) if _KEY in field.metadata
        }
        self._by_spelling = (
            {key.name: name for name, key in self._keys.items()} if dotted_only else dict(self._spellings())
        )

    def __iter__(self) -> Iterator[tuple[str, Key]]:
        return iter(self._keys.items())

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<KeyTable of {len(self._keys)} keys>"

    def key(self, attribute: str) -> Key:
        """The key of an attribute."""
        return self._keys[attribute]

    def attribute(self, spelling: str) -> str | None:
        """The attribute for a dotted name, an alias, or either with underscores; `None` if there is none."""
        return self._by_spelling.get(spelling)

    def by_name(self) -> dict[str, Key]:
        """The keys by dotted name."""
        return {key.name: key for key in self._keys.values()}

    def suggestion(self, spelling: str) -> str:
        """Half a sentence that names the nearest keys in the manner of the spelling, or where all are listed."""
        dotted = "." in spelling
        candidates = [name for name in self._by_spelling if ("." in name) is dotted]
        near = difflib.get_close_matches(spelling, candidates, n=3, cutoff=0.7)
        if near:
            return f"did you mean {' or '.join(near)}?"
        return "remove it, or see the configuration reference for the keys there are"

    def _spellings(self) -> Iterable[tuple[str, str]]:
        for attribute, key in self._keys.items():
            for dotted in (key.name, *key.aliases):
                yield dotted, attribute
                yield dotted.replace(".", "_"), attribute
        for attribute in self._keys:
            yield attribute, attribute


class UnknownKeyError(KeyError):
    """No key of the table has this spelling."""


def gather(table: KeyTable, given: Iterable[tuple[str, object]]) -> dict[str, object]:
    """The given values by attribute.

    Raises:
        UnknownKeyError: The table knows no such key; `args[0]` is the spelling.
        KafkaGroupsError: A value does not fit, or a key was given twice with different values.
    """
    values: dict[str, object] = {}
    spelt: dict[str, str] = {}
    for spelling, raw in given:
        attribute = table.attribute(spelling)
        if attribute is None:
            raise UnknownKeyError(spelling)
        key = table.key(attribute)
        value = key.parse(raw, named=spelling)
        if values.setdefault(attribute, value) != value:
            raise key.problem(
                raw,
                f"{_other(spelling, spelt[attribute])} already says {_shown(key, values[attribute])}",
                named=spelling,
                remedy="give the key once",
            )
        spelt.setdefault(attribute, spelling)
    return values


def shown_value(name: str, value: object) -> str:
    """The value of a key that no table knows, unless its name says that it is a secret."""
    return "a hidden value" if _SECRET.search(name) else repr(value)


def _other(spelling: str, before: str) -> str:
    return "the key, given twice," if spelling == before else f"the same key written {before}"


def _shown(key: Key, value: object) -> str:
    return "something else" if key.secret else repr(value)
