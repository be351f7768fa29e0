"""The answers of stores of each kind to the questions of an address."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final

from attrs import frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.serdes import Windowed
from kafka_groups.streams.serving.json_values import read_key, read_number
from kafka_groups.streams.state.stores import (
    KeyValueDefinition,
    SessionDefinition,
    StoreDefinition,
    TimestampedKeyValueDefinition,
    VersionedDefinition,
    WindowDefinition,
)

__all__ = ["METHODS", "MOST_ROWS", "Asked", "read"]

MOST_ROWS: Final = 10_000
"""The most rows in an answer."""
_USUAL_ROWS: Final = 1_000

METHODS: Final = ("get", "range", "fetch")
"""The last parts of the addresses of a store."""


@frozen
class Asked:
    """A question to a store.

    Attributes:
        definition: The store.
        method: One of `METHODS`.
        parameters: Those of the address.
    """

    definition: StoreDefinition
    method: str
    parameters: Mapping[str, str]

    def key(self, name: str = "key") -> Any:
        """Return a parameter that is a key.

        Raises:
            ConfigurationError: It is missing, or no key of the store.
        """
        return read_key(self._text(name), getattr(self.definition, "key"), name)  # noqa: B009 - of all kinds but suppress

    def key_or_none(self, name: str) -> Any:
        """Return a parameter that is a key, or None if it is missing."""
        return self.key(name) if name in self.parameters else None

    def number(self, name: str) -> int:
        """Return a parameter that is a number.

        Raises:
            ConfigurationError: It is missing, or not a whole number.
        """
        return read_number(self._text(name), name)

    def number_or_none(self, name: str) -> int | None:
        """Return a parameter that is a number, or None if it is missing."""
        return self.number(name) if name in self.parameters else None

    @property
    def is_reverse(self) -> bool:
        """True if the last rows come first."""
        return self.parameters.get("reverse", "false") == "true"

    @property
    def most_rows(self) -> int:
        """Return how many rows the answer may have.

        Raises:
            ConfigurationError: It is more than `MOST_ROWS`, or less than one.
        """
        limit = self.number_or_none("limit")
        if limit is None:
            return _USUAL_ROWS
        if not 1 <= limit <= MOST_ROWS:
            raise ConfigurationError(f"limit={limit} is not from 1 to {MOST_ROWS}. Ask for fewer rows at a time.")
        return limit

    def _text(self, name: str) -> str:
        if name not in self.parameters:
            raise ConfigurationError(f"The parameter {name} is missing. /openapi.json lists the parameters.")
        return self.parameters[name]


Shown = Mapping[str, object] | None
Reader = Callable[[Any, Asked], Shown]


def read(view: Any, asked: Asked) -> Shown:
    """Return what a store has, for `json_text`; None if it has no such key.

    Raises:
        ConfigurationError: A parameter is missing or invalid, or stores of this kind have no such method.
        InvalidStateStoreError: The store cannot be read now, or the key is elsewhere.
    """
    readers = _READERS.get(type(asked.definition), {})
    reader = readers.get(asked.method)
    if reader is None:
        its = " and ".join(f"/stores/{asked.definition.name}/{name}" for name in readers) or "none"
        raise ConfigurationError(
            f"Store {asked.definition.name!r} has no {asked.method}: it is of another kind. Its addresses: {its}."
        )
    return reader(view, asked)


def _get(view: Any, asked: Asked) -> Shown:
    key = asked.key()
    value = view.get(key)
    return None if value is None else {"key": key, "value": value}


def _get_version(view: Any, asked: Asked) -> Shown:
    key = asked.key()
    found = view.get(key, asked.number_or_none("as_of_ms"))
    return None if found is None else {"key": key, **found._asdict()}


def _get_window(view: Any, asked: Asked) -> Shown:
    start_ms, key = asked.number("start_ms"), asked.key()
    value = view.get(key, start_ms)
    return None if value is None else {"key": key, "start_ms": start_ms, "value": value}


def _range(view: Any, asked: Asked) -> Shown:
    found = view.range(asked.key_or_none("low"), asked.key_or_none("high"), reverse=asked.is_reverse)
    return _rows(({"key": key, "value": value} for key, value in found), asked)


def _fetch_windows(view: Any, asked: Asked) -> Shown:
    found = view.fetch(asked.key(), asked.number("first_ms"), asked.number("last_ms"), reverse=asked.is_reverse)
    return _rows(({"start_ms": start_ms, "value": value} for start_ms, value in found), asked)


def _fetch_sessions(view: Any, asked: Asked) -> Shown:
    found: Iterable[tuple[Windowed[Any], Any]] = view.fetch(asked.key(), reverse=asked.is_reverse)
    return _rows(({**session.window._asdict(), "value": value} for session, value in found), asked)


def _rows(rows: Iterable[Mapping[str, object]], asked: Asked) -> Shown:
    most = asked.most_rows
    found = list(islice(rows, most + 1))
    return {"rows": found[:most], "has_more": len(found) > most}


_READERS: Final[Mapping[type[StoreDefinition], Mapping[str, Reader]]] = {
    KeyValueDefinition: {"get": _get, "range": _range},
    TimestampedKeyValueDefinition: {"get": _get, "range": _range},
    WindowDefinition: {"get": _get_window, "fetch": _fetch_windows},
    SessionDefinition: {"fetch": _fetch_sessions},
    VersionedDefinition: {"get": _get_version},
}
