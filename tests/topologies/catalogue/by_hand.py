"""Topologies that are made node by node."""

from typing import Any

from kafka_groups.streams import Processor, Record, Topology
from tests.topologies.catalogue.functions import TEXT, ByLetter, length
from tests.topologies.catalogue.processing import SEEN, Keeping, first_only, looking_up, upper_value
from tests.topologies.catalogue.registry import Twins

__all__ = ["twins"]

twins = Twins()


class Choosing(Processor[str, str, str, str]):
    """Forwards values of odd length to one child, of even length to another, and nulls to both."""

    def process(self, record: Record[Any, Any]) -> None:
        """Process one record."""
        if record.value is None:
            self.context.forward(record)
        else:
            self.context.forward(record, to="odd" if length(record.value) % 2 else "even")


def _source(name: str, *topics: str) -> Topology:
    return Topology().add_source(name, *topics, key=TEXT, value=TEXT)


def children() -> Topology:
    """A processor that chooses a child."""
    topology = _source("source", "in", "other").add_processor("choose", factory=Choosing, parents=["source"])
    topology.add_sink("odd", "odd", parents=["choose"], key=TEXT, value=TEXT)
    return topology.add_sink("even", "even", parents=["choose"], key=TEXT, value=TEXT)


def parents() -> Topology:
    """Nodes with several parents."""
    topology = _source("first", "in").add_source("second", "other", key=TEXT, value=TEXT)
    topology.add_processor("upper", upper_value, parents=["first", "second"])
    topology.add_sink("dynamic", ByLetter(), parents=["upper"], key=TEXT, value=TEXT)
    return topology.add_sink("sink", "out", parents=["upper", "first"], key=TEXT, value=TEXT)


def shared_store() -> Topology:
    """Two processors with one store."""
    topology = Topology().add_source("first", "in", key=TEXT, value=TEXT, offset_reset="latest")
    topology.add_source("second", "other", key=TEXT, value=TEXT).add_state_store(SEEN)
    topology.add_processor("keep", first_only, parents=["first"], stores=["seen"])
    topology.add_processor("lookup", looking_up, parents=["second"], stores=["seen"])
    topology.add_sink("kept", "out", parents=["keep"], key=TEXT, value=TEXT)
    return topology.add_sink("found", "found", parents=["lookup"], key=TEXT, value=TEXT, partitioner=lambda *_: 2)


def read_only_store() -> Topology:
    """A store whose changelog is a topic that others write."""
    topology = Topology().add_read_only_state_store(
        SEEN, "table", source="looked-up", processor="keeper", factory=Keeping, key=TEXT, value=TEXT
    )
    topology.add_source("source", "in", key=TEXT, value=TEXT)
    topology.add_processor("lookup", looking_up, parents=["source"], stores=["seen"])
    return topology.add_sink("sink", "out", parents=["lookup"], key=TEXT, value=TEXT)


def two_parts() -> Topology:
    """Two sub-topologies."""
    topology = _source("one", "in").add_sink("to-out", "out", parents=["one"], key=TEXT, value=TEXT)
    topology.add_source("two", "other", key=TEXT, value=TEXT)
    return topology.add_sink("to-other", "other-out", parents=["two"], key=TEXT, value=TEXT)


twins.by_hand(
    "hand_made",
    lambda: (
        _source("source", "in")
        .add_processor("upper", upper_value, parents=["source"])
        .add_sink("sink", "out", parents=["upper"], key=TEXT, value=TEXT)
    ),
)
twins.by_hand("hand_made_children", children)
twins.by_hand("hand_made_parents", parents)
twins.by_hand(
    "hand_made_store",
    lambda: (
        _source("source", "in")
        .add_processor("first", first_only, parents=["source"], stores=[SEEN])
        .add_sink("sink", "out", parents=["first"], key=TEXT, value=TEXT)
    ),
)
twins.by_hand("hand_made_shared_store", shared_store)
twins.by_hand("hand_made_read_only_store", read_only_store)
twins.by_hand("hand_made_two_parts", two_parts)
