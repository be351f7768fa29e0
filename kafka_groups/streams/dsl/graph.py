"""The graph of operators that the DSL writes, and the names of its nodes."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from kafka_groups import serdes
from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.serdes import Serde
from kafka_groups.streams.dsl.optimization import Optimization
from kafka_groups.streams.topology.checks import check_topology
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.topology_arguments import check_kind

__all__ = ["Graph", "GraphNode", "Missing", "Slot"]

T = TypeVar("T")

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")

WriteNodes = Callable[[NodeGraph, tuple[str, ...]], None]
"""Adds the nodes of an operator to a topology; gets the names of the nodes above it."""


class Missing:
    """A serde that nobody has given yet.

    Args:
        operator: The operator after which it is unknown.
        keyword: Its keyword that gives the serde.
    """

    def __init__(self, operator: str, keyword: str) -> None:
        self.operator = operator
        self.keyword = keyword


Slot = Serde[Any] | Missing
"""The serde of keys or values of a stream or table, if it is known."""


class GraphNode:
    """One operator.

    Attributes:
        name: The name of the node whose records its children get.
        write: Adds its nodes to a topology.
        parents: The operators above it.
        changes_key: Whether it may change keys, so that a later grouping or join needs another partitioning.
        keeps_records: Whether it passes records on as they are, or drops them.
        takes_null_keys: Whether it has results for records with null keys, as left and outer joins have (KIP-962).
    """

    def __init__(
        self,
        name: str,
        write: WriteNodes,
        parents: Iterable["GraphNode"],
        *,
        changes_key: bool = False,
        keeps_records: bool = False,
        takes_null_keys: bool = False,
    ) -> None:
        self.name = name
        self.write = write
        self.parents = tuple(parents)
        self.changes_key = changes_key
        self.keeps_records = keeps_records
        self.takes_null_keys = takes_null_keys

    def below(self, parents: Iterable["GraphNode"]) -> "GraphNode":
        """Return the same operator below other ones."""
        return GraphNode(
            self.name,
            self.write,
            parents,
            changes_key=self.changes_key,
            keeps_records=self.keeps_records,
            takes_null_keys=self.takes_null_keys,
        )


class Graph:
    """All operators of a builder, the counter of their names, and mistakes that `build` reports.

    Attributes:
        optimization: The optimizations that `build` makes.
    """

    def __init__(self, *, optimization: Optimization = Optimization.NONE, explicit_names: bool = False) -> None:
        self.optimization = optimization
        self._explicit_names = explicit_names
        self._generated: set[str] = set()
        self._nodes: list[GraphNode] = []
        self._index = 0
        self._problems: list[str] = []

    def new_name(self, prefix: str) -> str:
        """Return the next name with a prefix."""
        name = f"{prefix}{self._index:010d}"
        self._generated.add(name)
        self._index += 1
        return name

    def named(self, name: str | None, prefix: str) -> str:
        """Return the name that was given, or the next one with a prefix. A given name takes an index, too."""
        # A name that is given must not change the numbers of the names after it: with them, changelogs and repartition
        # topics would get other names, and an application would lose its state (NamedInternal.orElseGenerateWithPrefix
        # in Kafka).
        generated = self.new_name(prefix)
        return generated if name is None else name

    def suffixed(self, name: str | None, suffix: str, prefix: str) -> str:
        """Return the name of another node of an operator: with a suffix, if the operator's name was given."""
        generated = self.new_name(prefix)  # in any case, as above (NamedInternal.suffixWithOrElseGet in Kafka)
        return generated if name is None else name + suffix

    def new_store_name(self, prefix: str) -> str:
        """Return the next name of a store."""
        return self.new_name(f"{prefix}STATE-STORE-")

    def add(
        self,
        name: str,
        write: WriteNodes,
        *parents: GraphNode,
        changes_key: bool = False,
        keeps_records: bool = False,
        takes_null_keys: bool = False,
    ) -> GraphNode:
        """Add an operator."""
        return self.add_node(
            GraphNode(
                name,
                write,
                parents,
                changes_key=changes_key,
                keeps_records=keeps_records,
                takes_null_keys=takes_null_keys,
            )
        )

    def children_of(self, parent: GraphNode) -> Iterator[GraphNode]:
        """Iterate over the operators below one."""
        return (node for node in self._nodes if parent in node.parents)

    def add_node(self, node: GraphNode) -> GraphNode:
        """Add an operator that is a node already.

        Raises:
            TypeError: Its name is not a string.
            TopologyError: Its name is not legal, or an operator above it is of another builder.
        """
        check_kind("name", node.name, str, "a string")
        if not _LEGAL_NAME.fullmatch(node.name):
            raise TopologyError(
                f"name={node.name!r} is not the name of an operator. Use up to 249 ASCII letters, digits, '.', '_' and "
                "'-'."
            )
        for parent in node.parents:
            # Two builders count their names apart, so that a topology of both could have one name twice.
            if parent not in self._nodes:
                raise TopologyError(
                    f"{node.name!r} is below {parent.name!r} of another builder. Use one builder for all of a topology."
                )
        self._nodes.append(node)
        return node

    def unnamed_topic(self, prefix: str) -> str:
        """Note that the repartition topic of this prefix has no name that was given for it, and return the prefix."""
        self._generated.add(f"{prefix}-repartition")
        return prefix

    def need(self, slot: Slot, operator: str) -> Serde[Any]:
        """Return a serde that an operator needs. If it is missing, return any, and `build` will raise an error.

        Args:
            slot: The serde, if it is known.
            operator: The operator that needs it.
        """
        if not isinstance(slot, Missing):
            return slot
        left = "" if slot.operator == operator else f", which {slot.operator} left unknown"
        self._problems.append(
            f"{operator} needs the serde of its {slot.keyword}s{left}. Give it: "
            f"{slot.operator}(…, {slot.keyword}=serdes.…)."
        )
        return serdes.bytes_

    def build(self, rewrite: Callable[[list[GraphNode]], list[GraphNode]] = list) -> NodeGraph:
        """Return the topology.

        Args:
            rewrite: Returns other operators in place of those that were added.

        Raises:
            TopologyError: There is a mistake. The message names the operator and what to change.
        """
        # All missing serdes are reported at once. Java notices them one at a time, when a task starts.
        if self._problems:
            raise TopologyError("\n".join(dict.fromkeys(self._problems)))
        topology = NodeGraph()
        # Operators are written in the order in which the program added them. Java's order is the same: it writes by
        # build priority, which counts up with each operator (InternalStreamsBuilder.buildAndOptimizeTopology). The
        # numbers of sub-topologies follow from it.
        for node in rewrite(self._nodes):
            node.write(topology, tuple(parent.name for parent in node.parents))
        check_topology(topology)
        if self._explicit_names:
            self._check_names(topology)
        return topology

    def _check_names(self, topology: NodeGraph) -> None:
        """Refuse state whose name changes when an operator is added above it."""
        generated = tuple(self._generated)
        # Java has the same check as `ensure.explicit.internal.resource.naming`. A name that only begins with a
        # generated one counts, too: it changes with it.
        stores = [name for name in topology.stores if name.startswith(generated)]
        topics = [name for name in topology.repartition_topics if name.startswith(generated)]
        remedy = "Give its operator `store=` (or `name=`, if it has no other)."
        problems = [f"Store {name} has a generated name. {remedy}" for name in stores]
        problems += [f"Repartition topic {name} has a generated name. Give its operator `name=`." for name in topics]
        if problems:
            raise TopologyError("\n".join(problems))
