"""The ids of the topics that stores are restored from, as an engine keeps them beside the positions.

A position belongs to one topic. A topic that was deleted and created again has the same name and another id, and may
have grown past the position in the meantime.
"""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from kafka_groups.streams.state.engine import Notes

__all__ = ["forgotten_ids", "ids_in", "replaced_topics", "topic_id_notes"]

_PREFIX: Final = "#topic-id-"
_FORGOTTEN: Final = b""


def topic_id_notes(ids: Mapping[str, UUID]) -> Notes:
    """Return the ids of topics as an engine keeps them."""
    return {f"{_PREFIX}{topic}": id_.bytes for topic, id_ in ids.items()}


def forgotten_ids(topics: Iterable[str]) -> Notes:
    """Return notes by which an engine forgets the ids of topics: its positions belong to those that there are now."""
    return {f"{_PREFIX}{topic}": _FORGOTTEN for topic in topics}


def ids_in(notes: Notes) -> dict[str, UUID]:
    """Return the ids that an engine knows. Files of earlier versions have no ids."""
    found = ((name.removeprefix(_PREFIX), value) for name, value in notes.items() if name.startswith(_PREFIX))
    return {topic: UUID(bytes=value) for topic, value in found if value != _FORGOTTEN}


def replaced_topics(notes: Notes, ids: Mapping[str, UUID]) -> list[str]:
    """Return the topics whose positions in an engine belong to another topic than the one of that name now."""
    known = ids_in(notes)
    return sorted(topic for topic, id_ in ids.items() if known.get(topic, id_) != id_)
