"""Fills the reference pages from the code: configuration keys and error classes.

A page has a line `<!-- generated: NAME -->`; what stands in its place is made here when the documentation is built.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kafka_groups.config.broker import broker_keys, group_keys
from kafka_groups.config.keys import Key
from kafka_groups.config.share import FORBIDDEN, share_consumer_keys
from kafka_groups.config.topic import topic_keys
from kafka_groups.errors import BrokerError, KafkaGroupsError

_MARK = re.compile(r"^<!-- generated: (?P<name>[a-z-]+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the generated parts of a page into their places."""
    return _MARK.sub(lambda match: "\n".join(_GENERATORS[match["name"]]()), markdown)


def share_consumer() -> Iterator[str]:
    """The keys of a share consumer: keyword, dotted name, type, unit, default, what is allowed, meaning."""
    yield from _table_head("Keyword", "Kafka's name", "Type", "Unit", "Default", "Allowed", "Meaning")
    for attribute, key in share_consumer_keys().items():
        names = ", ".join(f"`{name}`" for name in (key.name, *key.aliases))
        yield _row(f"`{attribute}`", names, *_facts(key))


def forbidden() -> Iterator[str]:
    """The keys that a share consumer refuses, why, and what to do instead."""
    yield from _table_head("Key", "Why not", "Instead")
    for name, (why, remedy) in FORBIDDEN.items():
        yield _row(f"`{name}`", f"{why[0].upper()}{why[1:]}.", f"{remedy[0].upper()}{remedy[1:]}.")


def share_group() -> Iterator[str]:
    """The configuration of a share group."""
    return _dotted(group_keys().values())


def broker() -> Iterator[str]:
    """The settings of an embedded broker."""
    return _dotted(broker_keys().values())


def topic() -> Iterator[str]:
    """The configuration of a topic on an embedded broker."""
    return _dotted(topic_keys().values())


def broker_errors() -> Iterator[str]:
    """The errors that a broker's error code becomes."""
    yield from _table_head("Class", "Code", "Retriable", "Meaning")
    for error in sorted(BrokerError.__subclasses__(), key=lambda error: error.code):
        yield _row(f"`{error.__name__}`", str(error.code), "yes" if error.retriable else "no", _first_line(error))


def own_errors() -> Iterator[str]:
    """The errors that this package raises by itself."""
    yield from _table_head("Class", "Is also a", "Meaning")
    for error in _own(KafkaGroupsError):
        bases = ", ".join(f"`{base.__name__}`" for base in error.__bases__)
        yield _row(f"`{error.__name__}`", bases, _first_line(error))


def _own(error: type[KafkaGroupsError]) -> Iterator[type[KafkaGroupsError]]:
    for child in error.__subclasses__():
        if child.__module__ == KafkaGroupsError.__module__ and child not in BrokerError.__subclasses__():
            yield child
            yield from _own(child)


def _first_line(error: type[KafkaGroupsError]) -> str:
    return (error.__doc__ or "").split("\n", 1)[0]


def _dotted(keys: Iterable[Key]) -> Iterator[str]:
    yield from _table_head("Name", "Type", "Unit", "Default", "Allowed", "Meaning")
    for key in keys:
        yield _row(f"`{key.name}`", *_facts(key))


def _facts(key: Key) -> tuple[str, ...]:
    if key.required:
        default = "required"
    else:
        default = "none" if key.default is None else f"`{key.format(key.default) or '(empty)'}`"
    return key.type.name.lower(), key.unit or "", default, key.allowed, key.doc


def _table_head(*columns: str) -> Iterator[str]:
    yield _row(*columns)
    yield _row(*("---" for _ in columns))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_GENERATORS: dict[str, Callable[[], Iterator[str]]] = {
    "share-consumer": share_consumer,
    "forbidden": forbidden,
    "share-group": share_group,
    "broker": broker,
    "topic": topic,
    "broker-errors": broker_errors,
    "own-errors": own_errors,
}
