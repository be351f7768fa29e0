"""Looking up rows of tables, whether they have a store or are computed from the rows of other tables."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.streams.state.versioned_stores import VersionedState
from kafka_groups.streams.topology.nodes import NodeContext

__all__ = ["LookUp", "LookUpAsOf", "TableView", "computed_view", "stored_view"]

LookUp = Callable[[Any], tuple[Any, int] | None]
"""Gets a key, and returns value and timestamp of its row, or None."""

LookUpAsOf = Callable[[Any, int], tuple[Any, int] | None]
"""Gets a key and a time, and returns value and timestamp of the row that was valid then, or None."""


@frozen
class TableView:
    """A way to look up rows.

    Attributes:
        stores: The stores that a node has to be connected with.
        open: Makes the function for a node.
        open_as_of: Makes the function that looks rows up as of a time. None: the table is not versioned.
    """

    stores: tuple[str, ...]
    open: Callable[[NodeContext], LookUp]
    open_as_of: Callable[[NodeContext], LookUpAsOf] | None = None


def stored_view(store: str, *, is_versioned: bool = False) -> TableView:
    """Return the view of a table with a store."""

    def opened(node: NodeContext) -> LookUp:
        state = node.state(store)
        key_bytes, get = state.key_bytes, state.get

        def look_up(key: Any) -> tuple[Any, int] | None:
            found: tuple[Any, int] | None = get(key_bytes(key))
            return found

        return look_up

    def opened_as_of(node: NodeContext) -> LookUpAsOf:
        state: VersionedState = node.state(store)

        def look_up(key: Any, as_of_ms: int) -> tuple[Any, int] | None:
            found = state.version(state.key_bytes(key), as_of_ms)
            return None if found is None else state.decoded(found.stored)

        return look_up

    return TableView((store,), opened, opened_as_of if is_versioned else None)


def computed_view(
    parent: TableView, compute: Callable[[NodeContext], Callable[[Any, Any], Any]], stores: tuple[str, ...]
) -> TableView:
    """Return the view of a table whose rows are computed from those of another.

    Args:
        parent: The other table.
        compute: Makes the function of key and value for a node.
        stores: The stores that this function uses.
    """

    def opened(node: NodeContext) -> LookUp:
        look_up, computed = parent.open(node), _computing(compute(node))
        return lambda key: computed(key, look_up(key))

    # As in Java, what is computed from a versioned table is versioned, too (KTableFilter, KTableMapValues and
    # KTableTransformValues).
    opened_as_of = None if parent.open_as_of is None else _computed_as_of(parent.open_as_of, compute)
    return TableView((*parent.stores, *stores), opened, opened_as_of)


def _computed_as_of(
    parent: Callable[[NodeContext], LookUpAsOf], compute: Callable[[NodeContext], Callable[[Any, Any], Any]]
) -> Callable[[NodeContext], LookUpAsOf]:
    def opened(node: NodeContext) -> LookUpAsOf:
        look_up, computed = parent(node), _computing(compute(node))
        return lambda key, as_of_ms: computed(key, look_up(key, as_of_ms))

    return opened


def _computing(
    function: Callable[[Any, Any], Any],
) -> Callable[[Any, tuple[Any, int] | None], tuple[Any, int] | None]:
    """Return a function of a key and a row of the table above that computes a row."""

    def computed(key: Any, found: tuple[Any, int] | None) -> tuple[Any, int] | None:
        # The function is called for missing rows, too: it decides what becomes of null (KTableTransformValues in Kafka
        # does so; filters and mappings return None).
        value = function(key, None if found is None else found[0])
        return None if value is None or found is None else (value, found[1])

    return computed
