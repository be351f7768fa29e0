"""Looking up rows of tables, whether they have a store or are computed from the rows of other tables."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.streams.topology.nodes import NodeContext

__all__ = ["LookUp", "TableView", "computed_view", "stored_view"]

LookUp = Callable[[Any], tuple[Any, int] | None]
"""Gets a key, and returns value and timestamp of its row, or None."""


@frozen
class TableView:
    """A way to look up rows.

    Attributes:
        stores: The stores that a node has to be connected with.
        open: Makes the function for a node.
    """

    stores: tuple[str, ...]
    open: Callable[[NodeContext], LookUp]


def stored_view(store: str) -> TableView:
    """Return the view of a table with a store."""

    def opened(node: NodeContext) -> LookUp:
        state = node.state(store)
        key_bytes, get = state.key_bytes, state.get

        def look_up(key: Any) -> tuple[Any, int] | None:
            found: tuple[Any, int] | None = get(key_bytes(key))
            return found

        return look_up

    return TableView((store,), opened)


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
        look_up, function = parent.open(node), compute(node)

        def computed(key: Any) -> tuple[Any, int] | None:
            found = look_up(key)
            # The function is called for missing rows, too: it decides what becomes of null (KTableTransformValues in
            # Kafka does so; filters and mappings return None).
            value = function(key, None if found is None else found[0])
            return None if value is None or found is None else (value, found[1])

        return computed

    return TableView((*parent.stores, *stores), opened)
