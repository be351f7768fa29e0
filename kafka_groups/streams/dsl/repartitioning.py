"""Repartition topics: a filter of null keys, a sink and a source."""

import re
from typing import Any

from attrs import Attribute, field, frozen

from kafka_groups.serdes import Serde
from kafka_groups.streams.dsl.graph import Graph, GraphNode
from kafka_groups.streams.member.rules.topology_builder import TopologyError, check_topic_name
from kafka_groups.streams.processors.stateless import Filter
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Partitioner, ProcessorNode, SinkNode, SourceNode

__all__ = ["Repartition", "add_repartition"]

_SUFFIX = "-repartition"
_GENERATED = re.compile(r"KSTREAM.*-[0-9]{10}")  # other prefixes give their names to the nodes, as in Java


_MAX_PARTITIONS = 2**31 - 1


def _count(_given: object, _attribute: "Attribute[int | None]", partitions: object) -> None:
    if partitions is None:
        return
    if isinstance(partitions, bool) or not isinstance(partitions, int):
        raise TypeError(f"repartition: partitions={partitions!r} is not a number. Give an int, or leave it out.")
    if not 1 <= partitions <= _MAX_PARTITIONS:
        raise TopologyError(
            f"repartition: partitions={partitions!r} is not from 1 to {_MAX_PARTITIONS}. Leave it out to derive it "
            "from the topics that flow in."
        )


def _partitioner(_given: object, _attribute: object, partitioner: Any) -> None:
    check_functions("repartition", partitioner=partitioner)


def _prefix(_given: object, _attribute: object, prefix: Any) -> None:
    check_topic_name("A repartition topic", prefix)


@frozen(kw_only=True)
class Repartition:
    """The options of a repartition topic.

    Attributes:
        prefix: The topic's name without its suffix.
        key: The serde of keys.
        value: The serde of values.
        partitions: The number of partitions, or None to derive it.
        partitioner: Overrides the default partitioner.
        keeps_null_keys: Whether records with null keys get through, as above left and outer joins (KIP-962).
    """

    prefix: str = field(validator=_prefix)
    key: Serde[Any]
    value: Serde[Any]
    partitions: int | None = field(default=None, validator=_count)
    partitioner: Partitioner | None = field(default=None, validator=_partitioner)
    keeps_null_keys: bool = False


def add_repartition(graph: Graph, parent: GraphNode, given: Repartition) -> GraphNode:
    """Add a repartition topic below an operator, and return the node of its source."""
    sink, null_filter, source = (graph.new_name(f"KSTREAM-{kind}-") for kind in ("SINK", "FILTER", "SOURCE"))
    topic = given.prefix if given.prefix.endswith(_SUFFIX) else given.prefix + _SUFFIX
    if not _GENERATED.fullmatch(given.prefix):
        sink, null_filter, source = (f"{topic}-{kind}" for kind in ("sink", "filter", "source"))

    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        topology.add_repartition_topic(topic, given.partitions)
        kept = _is_any if given.keeps_null_keys else _has_key
        topology.add_node(ProcessorNode(name=null_filter, parents=parents, operator=Filter(kept)))
        topology.add_node(
            SinkNode(
                name=sink,
                parents=(null_filter,),
                topic=topic,
                key=given.key,
                value=given.value,
                partitioner=given.partitioner,
            )
        )
        topology.add_node(SourceNode(name=source, topics=(topic,), key=given.key, value=given.value))

    return graph.add(source, write, parent)


def _is_any(_key: Any, _value: Any) -> bool:
    return True


def _has_key(key: Any, _value: Any) -> bool:
    return key is not None
