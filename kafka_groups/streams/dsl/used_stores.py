"""The stores that code of the user's works with."""

from collections.abc import Callable, Iterable

from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Operator
from kafka_groups.streams.topology.topology_arguments import listed_stores

__all__ = ["UsedStores"]


class UsedStores:
    """Stores by definition, which are added to the topology, or by the names of stores that are there already.

    Attributes:
        names: Their names.
    """

    def __init__(self, operator: str, stores: Iterable[StoreDefinition | str]) -> None:
        self._stores = listed_stores(operator, stores)
        self.names = tuple(each if isinstance(each, str) else each.name for each in self._stores)

    def writer(self, name: str, operator: Operator) -> Callable[[NodeGraph, tuple[str, ...]], None]:
        """Return a function that adds a node which is connected with the stores."""

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            topology.add_operator(name, operator, parents)
            for each in self._stores:
                if isinstance(each, StoreDefinition):
                    topology.add_state_store(each)
            topology.connect(name, *self.names)

        return write
