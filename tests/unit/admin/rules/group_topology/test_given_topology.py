"""Topologies that callers give for classic groups."""

import asyncio
import re
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.admin.rules.group_topology.given_topology import topology_of_group
from kafka_groups.client.calls.questions import Question, gathered
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafka_groups.streams import GroupTopology, StreamsBuilder, Subtopology, Topology, serdes

TOPICS = {"lines": False, "lines-2": False, "orders": False, "lines-internal": True}


async def nobody(question: Question[Any, Any]) -> Results[Any, Any]:
    raise AssertionError(f"nothing had to be asked: {question}")


async def brokers(question: Question[Any, Any]) -> Results[Any, Any]:
    """Brokers with some topics, one of them internal."""
    assert question.api is ApiKey.METADATA
    request: Any = question.build(question.keys, 9)
    assert (request.topics, request.allow_auto_topic_creation) == (None, False)
    topics = (MetadataResponseTopic(name=name, is_internal=hidden) for name, hidden in TOPICS.items())
    nameless = MetadataResponseTopic(topic_id=UUID(int=1))
    return gathered(question.read(question.keys, MetadataResponse(topics=(*topics, nameless))))


def counting(*topics: str | re.Pattern[str]) -> Topology:
    """Counts the values of topics."""
    builder = StreamsBuilder()
    lines = builder.stream(*topics, key=serdes.string, value=serdes.string)
    lines.group_by(lambda _key, line: line, key=serdes.string, value=serdes.string).count(store="counts")
    return builder.build()


def test_a_topology_is_taken_as_its_group_has_it() -> None:
    topology = counting("lines")
    found = asyncio.run(topology_of_group(nobody, topology, "words"))
    assert found == topology.group_topology("words")
    assert asyncio.run(topology_of_group(nobody, found, "other")) is found
    (changelog,) = found.subtopologies[1].changelogs
    assert changelog.name == "words-counts-changelog"


def test_patterns_read_the_topics_that_exist() -> None:
    topology = counting(re.compile(r"lines.*"))
    assert topology.has_patterns
    found = asyncio.run(topology_of_group(brokers, topology, "words"))
    assert found == topology.group_topology("words", ["lines", "lines-2"])
    assert found.source_topics == {"lines", "lines-2"}


@pytest.mark.parametrize("given", ["app:build", StreamsBuilder(), Topology, GroupTopology, Subtopology, None, 7])
def test_something_else_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"topology=.* is not a topology: give the Topology that Streams"):
        asyncio.run(topology_of_group(nobody, given, "words"))
