"""Operators that need the records of one new key share a repartition topic."""

from collections.abc import Iterable

from kafka_groups.streams.dsl.graph import GraphNode
from kafka_groups.streams.dsl.repartition import RepartitionNode

__all__ = ["merge_repartitions"]


def merge_repartitions(nodes: Iterable[GraphNode]) -> list[GraphNode]:
    """Return the same operators with one repartition topic for each that changes the key, in place of several.

    The topic of the first one is written right after the key has changed. What stood in between comes after it; these
    operators pass records on as they are, or drop them, so the topic's serdes are right.
    """
    ordered = tuple(nodes)
    groups: dict[GraphNode, list[tuple[RepartitionNode, list[GraphNode]]]] = {}
    for node in ordered:
        if isinstance(node, RepartitionNode) and node.is_implied:
            anchor, between = _place(node)
            if anchor is not None:
                groups.setdefault(anchor, []).append((node, between))
    return _rewritten(ordered, groups)


def _place(node: RepartitionNode) -> tuple[GraphNode | None, list[GraphNode]]:
    """Return the operator below which the topic can stand, if any, and those in between, from below."""
    between: list[GraphNode] = []
    (above,) = node.parents
    # The topic moves up past operators that keep key and value, and stops at one that changes the value: the topic's
    # serde would not fit there (InternalStreamsBuilder.getKeyChangingParentNode in Kafka).
    while above.keeps_records and len(above.parents) == 1:
        between.append(above)
        (above,) = above.parents
    # Streams that are merged come together here; what changed their keys is further up.
    return (above if above.changes_key or above.keeps_records else None), between


def _rewritten(
    ordered: Iterable[GraphNode], groups: dict[GraphNode, list[tuple[RepartitionNode, list[GraphNode]]]]
) -> list[GraphNode]:
    found: list[GraphNode] = []
    instead: dict[GraphNode, GraphNode] = {}  # what stands in a node's place, above its children
    moved: dict[GraphNode, GraphNode] = {}  # the shared topic, for the operators that come below it now
    gone = {node for group in groups.values() for node, _ in group}
    for node in ordered:
        # The topics of the group are left out. Operators below them come below what was above them, or below the shared
        # topic.
        if node in gone:
            above = instead[node.parents[0]]
            instead[node] = moved.get(node, above)
            continue
        parents = (moved[node],) if node in moved else [instead[parent] for parent in node.parents]
        instead[node] = node.below(parents)
        found.append(instead[node])
        if node in groups:
            found.append(_shared(instead[node], groups[node], moved))
    return found


def _shared(
    anchor: GraphNode, group: list[tuple[RepartitionNode, list[GraphNode]]], moved: dict[GraphNode, GraphNode]
) -> GraphNode:
    """Return the shared topic, and note the operators directly below it."""
    repartitions = [node for node, _ in group]
    # The shared topic has the name of the first one (InternalStreamsBuilder.getFirstRepartitionTopicName in Kafka).
    shared = repartitions[0].shared(anchor, repartitions)
    for node, between in group:
        moved[between[-1] if between else node] = shared
    return shared
