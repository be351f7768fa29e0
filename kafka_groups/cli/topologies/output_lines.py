"""The records that a topology writes, as lines of JSON."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import click
from attrs import frozen

from kafka_groups.cli.record_headers import headers_to_json
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.serdes import Serde
from kafka_groups.serdes.json_values import json_form
from kafka_groups.streams.topology.internal_topics import changelog_topic, topic_name
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SinkNode
from kafka_groups.testing.topology_driver import CapturedRecord
from kafka_groups.types import Header

__all__ = ["OutputLines"]

_CHOSEN = "topics that are chosen for each record"


@frozen
class _Shown:
    """Keys or values of an output topic.

    Attributes:
        deserialize: Their deserialiser.
        show: Returns their JSON.
    """

    deserialize: Callable[[bytes, Sequence[Header]], Any]
    show: Callable[[Any], Any]

    def json(self, data: bytes | None, headers: Sequence[Header]) -> Any:
        """Return the JSON of bytes."""
        return None if data is None else self.show(self.deserialize(data, headers))


class OutputLines:
    """Makes the lines of JSON of the topics that the sinks of a topology write to, except repartition topics.

    Raises:
        click.ClickException: The serdes of a sink have no form in JSON, or two sinks write one topic with two serdes.
    """

    def __init__(self, graph: NodeGraph, application_id: str) -> None:
        self._internal = _internal_topics(graph, application_id)
        self._serdes = _serdes_of_sinks(graph)
        self._shown = {topic: _shown(topic, *serdes) for topic, serdes in self._serdes.items()}

    def line(self, record: CapturedRecord) -> str | None:
        """Return the line of a record, or None if its topic is internal.

        Raises:
            click.ClickException: A value has no form in JSON.
        """
        if record.topic in self._internal:
            return None
        key, value = self._topic(record.topic)
        try:
            return _line(record, key, value)
        except (KafkaGroupsError, TypeError, ValueError) as error:
            raise click.ClickException(
                f"A record of topic {record.topic!r} cannot be shown as JSON: {error}"
            ) from error

    def _topic(self, topic: str) -> tuple[_Shown, _Shown]:
        found = self._shown.get(topic)
        if found is None:  # of a sink that chooses its topics
            found = self._shown[topic] = _shown(topic, *self._serdes[_CHOSEN])
        return found


def _line(record: CapturedRecord, key: _Shown, value: _Shown) -> str:
    shown = {
        "topic": record.topic,
        "key": key.json(record.key, record.headers),
        "value": value.json(record.value, record.headers),
        "timestamp_ms": record.timestamp_ms,
    }
    if record.headers:
        shown["headers"] = headers_to_json(record.headers)
    text = json.dumps(shown, ensure_ascii=False, allow_nan=False)
    text.encode()
    return text


def _internal_topics(graph: NodeGraph, application_id: str) -> frozenset[str]:
    changelogs = {changelog_topic(place, application_id) for place in graph.stores.values() if not place.source_topic}
    return frozenset(changelogs | {topic_name(graph, application_id, topic) for topic in graph.repartition_topics})


def _serdes_of_sinks(graph: NodeGraph) -> dict[str, tuple[Serde[Any], Serde[Any]]]:
    found: dict[str, tuple[Serde[Any], Serde[Any]]] = {}
    for sink in graph.nodes.values():
        if isinstance(sink, SinkNode) and sink.topic not in graph.repartition_topics:
            topic, serdes = sink.topic if isinstance(sink.topic, str) else _CHOSEN, (sink.key, sink.value)
            if found.setdefault(topic, serdes) != serdes:
                raise click.ClickException(
                    f"Sink {sink.name!r} writes to {_worded(topic)} with other serdes than another sink, so that their "
                    "records cannot be told apart. Test this topology with TopologyTestDriver."
                )
    return found


def _shown(topic: str, key: Serde[Any], value: Serde[Any]) -> tuple[_Shown, _Shown]:
    return _side(topic, key, is_key=True), _side(topic, value, is_key=False)


def _side(topic: str, serde: Serde[Any], *, is_key: bool) -> _Shown:
    form = json_form(serde)
    if form is None:
        raise click.ClickException(
            f"The {'keys' if is_key else 'values'} of {_worded(topic)} cannot be shown as JSON, because {serde!r} "
            "makes objects that only your program knows. Test this topology with TopologyTestDriver, or use "
            "serdes.json."
        )
    return _Shown(serde.deserializer(topic, is_key=is_key), form.show)


def _worded(topic: str) -> str:
    return topic if topic == _CHOSEN else f"topic {topic!r}"
