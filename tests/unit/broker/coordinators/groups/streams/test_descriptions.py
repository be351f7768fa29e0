"""Descriptions of topologies in virtual time: when members are asked again, and what is stored."""

import pytest
from attrs import evolve

from kafka_groups.broker.coordinators.groups.streams.descriptions import checked_description
from kafka_groups.errors import InvalidRequestError
from kafka_groups.protocol.coordinator_records.streams_group import StreamsGroupMetadata
from kafka_groups.protocol.messages.streams_group_describe import TopologyDescriptionStatus
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse
from kafka_groups.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from kafka_groups.protocol.messages.topology_description import (
    SOURCE_NODE,
    DescribedTopology,
    TopologyDescriptionNode,
    TopologyDescriptionSubtopology,
)
from tests.support.broker.streams_groups import GROUP, SIMPLE, Streams

UPDATE = StreamsGroupTopologyDescriptionUpdateRequest(
    group_id=GROUP,
    member_id="a",
    topology_epoch=0,
    topology_description=DescribedTopology(
        subtopologies=(TopologyDescriptionSubtopology(subtopology_id="0"),),
    ),
)
MINUTE_MS = 60_000


def with_topic() -> Streams:
    streams = Streams(keeps_descriptions=True)
    streams.topics.create("in", 4)
    return streams


def is_asked(response: StreamsGroupHeartbeatResponse) -> bool:
    return response.topology_description_required


def stored_epochs(streams: Streams) -> list[int]:
    """The epochs of descriptions in the group's records."""
    values = (record.value for record in streams.records if isinstance(record, StreamsGroupMetadata))
    return [value.stored_description_epoch for value in values if value is not None]


def status(streams: Streams) -> int:
    return streams.groups.describe(GROUP, with_description=True).topology_description_status


def asked_after_s(streams: Streams, seconds: int) -> list[int]:
    """After how many seconds a member is asked, if it sends a heartbeat each second and describes nothing."""
    found = []
    for second in range(1, seconds + 1):
        streams.after(1_000)
        if is_asked(streams.beat("a", 2)):
            found.append(second)
    return found


def test_members_that_do_not_answer_are_asked_after_growing_intervals() -> None:
    streams = with_topic()
    assert is_asked(streams.join("a"))
    assert asked_after_s(streams, 300) == [30, 90, 210]


def test_a_stored_description_ends_the_intervals() -> None:
    streams = with_topic()
    streams.join("a")
    streams.store(streams.groups.update_description(UPDATE))
    assert asked_after_s(streams, 100) == []
    assert status(streams) == TopologyDescriptionStatus.AVAILABLE


def test_the_records_have_the_epoch_of_the_description() -> None:
    streams = with_topic()
    streams.join("a")
    assert stored_epochs(streams) == [-1]
    streams.store(streams.groups.update_description(UPDATE))
    assert stored_epochs(streams) == [-1, -2, 0]
    streams.join("b")
    streams.beat("b", -1)
    assert stored_epochs(streams) == [-1, -2, 0, 0, 0], "later epochs of the group keep it"


def test_the_next_coordinator_has_no_description_and_asks_nobody() -> None:
    streams = with_topic()
    streams.join("a")
    streams.store(streams.groups.update_description(UPDATE))
    streams.move()
    assert status(streams) == TopologyDescriptionStatus.NOT_STORED
    assert not is_asked(streams.beat("a", 2))


def test_a_description_that_may_be_stored_or_not_is_asked_for_and_not_shown() -> None:
    streams = with_topic()
    streams.join("a")
    result = streams.groups.update_description(UPDATE)
    streams.store(evolve(result, records=result.records[:1]))
    streams.move()
    assert status(streams) == TopologyDescriptionStatus.NOT_STORED
    assert is_asked(streams.beat("a", 2))
    assert len(streams.groups.update_description(UPDATE).records) == 1


def test_a_member_with_an_older_topology_is_not_asked() -> None:
    streams = with_topic()
    streams.join("a", evolve(SIMPLE, epoch=1))
    streams.after(MINUTE_MS // 2)
    assert not is_asked(streams.join("b"))
    assert is_asked(streams.beat("a", 2))


def test_brokers_that_keep_none_ask_nobody() -> None:
    streams = Streams()
    streams.topics.create("in", 4)
    assert not is_asked(streams.join("a"))
    assert status(streams) == TopologyDescriptionStatus.NOT_STORED


def test_an_unknown_type_of_node_is_named() -> None:
    node = TopologyDescriptionNode(name="n", node_type=SOURCE_NODE)
    for kind in (0, 4, -1):
        part = TopologyDescriptionSubtopology(subtopology_id="0", nodes=(evolve(node, node_type=kind),))
        with pytest.raises(InvalidRequestError, match=f"Node 'n' has the unknown type {kind}. Use 1 for a source"):
            checked_description(DescribedTopology(subtopologies=(part,)))
