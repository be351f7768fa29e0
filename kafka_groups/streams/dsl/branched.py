"""Streams that are split by predicates."""

from collections.abc import Callable
from typing import Generic, TypeVar

from attrs import evolve, frozen

from kafka_groups.streams import processors
from kafka_groups.streams.dsl.graph import GraphNode
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph

__all__ = ["BranchedKStream", "SplitStream"]

K = TypeVar("K")
V = TypeVar("V")
Made = TypeVar("Made")


@frozen
class SplitStream(Generic[Made]):
    """A stream to split, and how to make its branches.

    Attributes:
        stream: The stream.
        name: The name of the node that splits it.
        make: Makes the stream of a branch.
    """

    stream: StreamParts
    name: str
    make: Callable[[StreamParts], Made]


class BranchedKStream(Generic[K, V, Made]):
    """Branches of a stream. Each record goes to the first branch whose predicate is true. Made by `KStream.split`.

    ```python
    tiers = orders.split(name="tier-")
    large = tiers.branch(lambda _, order: order.total > 1000, name="large")
    others = tiers.default_branch()
    ```
    """

    def __init__(self, split: SplitStream[Made]) -> None:
        self._split = split
        self._operator = processors.Branch()
        operator, name = self._operator, split.name

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            topology.add_operator(name, operator, parents)

        self._node = split.stream.graph.add(name, write, split.stream.node, keeps_records=True)

    def branch(self, predicate: Callable[[K, V], bool], *, name: str | None = None) -> Made:
        """Return the records for which a predicate of key and value is true, and those of earlier branches are false.

        Args:
            predicate: The predicate.
            name: The branch's name; its node has the name of the split before it.
        """
        check_functions("branch", predicate=predicate)
        # Branches are counted from 1, and the default one is 0 (BranchedKStreamImpl.branch and defaultBranch in Kafka).
        child = self._child(len(self._operator.branches) + 1 if name is None else name)
        self._operator.branches.append((predicate, child.name))
        return self._split.make(evolve(self._split.stream, node=child))

    def default_branch(self, *, name: str | None = None) -> Made:
        """Return the records that no branch wants. Without this branch they are dropped.

        Raises:
            ValueError: There is a default branch already.
        """
        # Java adds a second child, to which KStreamBranch never forwards a record.
        if self._operator.default is not None:
            raise ValueError(f"{self._split.name!r} has a default branch already. Use its stream twice.")
        child = self._child(0 if name is None else name)
        self._operator.default = child.name
        return self._split.make(evolve(self._split.stream, node=child))

    def _child(self, suffix: int | str) -> GraphNode:
        self._split.stream.graph.new_name("KSTREAM-BRANCHCHILD-")  # a name is used up, as in Java
        child_name = f"{self._split.name}{suffix}"

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            topology.add_operator(child_name, processors.PassThrough(), parents)

        return self._split.stream.graph.add(child_name, write, self._node, keeps_records=True)
