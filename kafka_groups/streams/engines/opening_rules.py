"""The rules for opening the state of a task that a process has left on the disk."""

from collections.abc import Collection, Mapping
from typing import Final

from kafka_groups.streams.engines.marks import FORMAT, Mark
from kafka_groups.streams.state.segments import segment_ms
from kafka_groups.streams.state.stores import (
    KeyValueDefinition,
    SessionDefinition,
    StoreDefinition,
    VersionedDefinition,
    WindowDefinition,
)

__all__ = ["global_layouts", "layouts", "reason_to_wipe"]

_MOST_OPENINGS: Final = 2
"""The openings without a commit after which files are deleted.

Damaged ones can end the process, and then nobody else knows of it."""


def layouts(stores: Collection[StoreDefinition]) -> dict[str, str]:
    """Return how each store is laid out: stores with another text cannot read its files."""
    return {store.name: _layout(store) for store in stores}


def global_layouts(stores: Mapping[str, StoreDefinition]) -> dict[str, str]:
    """Return the same of global stores, by the topics that fill them: rows of another topic are of no use either."""
    return {store.name: f"{_layout(store)}, of topic {topic}" for topic, store in stores.items()}


def _layout(store: StoreDefinition) -> str:
    kind = type(store).__name__.removesuffix("Definition").removeprefix("Timestamped")
    if isinstance(store, WindowDefinition):
        numbered = ", with duplicates" if store.retain_duplicates else ""
        return f"{kind}{_timed(store.timestamped)}{numbered}, segments of {segment_ms(store.retention_ms)} ms"
    if isinstance(store, SessionDefinition):
        return f"{kind}, segments of {segment_ms(store.retention_ms)} ms"
    if isinstance(store, VersionedDefinition):
        return f"{kind}, segments of {store.segment_ms} ms"
    return f"{kind}{_timed(store.timestamped)}" if isinstance(store, KeyValueDefinition) else kind


def _timed(timestamped: bool) -> str:  # noqa: FBT001 - a field of a definition
    return ", with timestamps" if timestamped else ""


def reason_to_wipe(mark: Mark, stores: Mapping[str, str], boot: str) -> str | None:
    """Return why files must not be opened, or None if they may be.

    Args:
        mark: Their mark.
        stores: How the stores of the task are laid out now.
        boot: The boot of the machine now.
    """
    if mark.engine != "lmdb" or mark.format != FORMAT:
        return f"they have format {mark.format} of {mark.engine}, and this release has format {FORMAT} of lmdb"
    if mark.is_damaged:
        return "the process that had them open was ended by damage in them"
    # Nothing waits for the disk at a commit. After a crash of the machine pages may be missing, and LMDB then raises an
    # error, loses rows silently or ends the process, so such files are not even opened.
    if not mark.is_clean and mark.boot_id != boot:
        return "they were open when the machine stopped, or were moved here from another one"
    if not mark.is_clean and mark.openings >= _MOST_OPENINGS:
        return f"they were opened {mark.openings} times without a commit, which damaged files can be the reason of"
    changed = sorted(name for name, layout in stores.items() if mark.stores.get(name, layout) != layout)
    if changed:
        name = changed[0]
        return f"store {name!r} was a store of another kind: {mark.stores[name]}. Now it is: {stores[name]}"
    return None
