"""Heartbeats of streams groups that are refused, whatever the group."""

from typing import Any

import pytest

from kafka_groups.broker.coordinators.groups.streams.requests import validate
from kafka_groups.errors import InvalidRequestError, StreamsInvalidTopologyError
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafka_groups.protocol.messages.streams_group_parts import StreamsSubtopology, TaskIds, TaskOffset
from tests.support.members.streams_topologies import internal, sent, subtopology

TASKS = (TaskIds(subtopology_id="0", partitions=(0,)),)
TOPOLOGY = sent(subtopology(sources=("in",)))
JOINING: dict[str, Any] = {
    "member_epoch": 0, "rebalance_timeout_ms": 1, "topology": TOPOLOGY, "active_tasks": (), "standby_tasks": (),
    "warmup_tasks": (),
}  # fmt: skip
STAYING: dict[str, Any] = {"member_epoch": 3}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({**JOINING, "group_id": ""}, "GroupId can't be empty"),
    ({**JOINING, "member_id": ""}, "MemberId can't be empty"),
    ({**JOINING, "instance_id": ""}, "InstanceId can't be empty"),
    ({**JOINING, "rack_id": ""}, "RackId can't be empty"),
    ({**JOINING, "rack_id": " "}, "RackId can't be empty"),
    ({**JOINING, "rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided"),
    ({**JOINING, "topology": None}, "Topology must be provided"),
    ({**JOINING, "active_tasks": TASKS}, "ActiveTasks must be empty"),
    ({**JOINING, "standby_tasks": TASKS}, "StandbyTasks must be empty"),
    ({**JOINING, "warmup_tasks": TASKS}, "WarmupTasks must be empty"),
    ({**JOINING, "active_tasks": None, "standby_tasks": None, "warmup_tasks": None}, "ActiveTasks must be empty"),
    ({**JOINING, "warmup_tasks": None}, "WarmupTasks must be empty"),
    ({**STAYING, "topology": TOPOLOGY}, "only be provided when"),
    ({**STAYING, "active_tasks": TASKS}, "must be given together"),
    ({**STAYING, "standby_tasks": TASKS, "warmup_tasks": ()}, "must be given together"),
    ({"member_epoch": -3}, "MemberEpoch is -3"),
    ({"member_epoch": -2}, "InstanceId can't be null"),
    (
        {**JOINING, "topology": sent(StreamsSubtopology(subtopology_id="0", source_topic_regex=("a.*",)))},
        "regular expression",
    ),
]


def request(**fields: Any) -> StreamsGroupHeartbeatRequest:
    return StreamsGroupHeartbeatRequest(**{"group_id": "g", "member_id": "m", **fields})


@pytest.mark.parametrize("fields", [JOINING, STAYING, {"member_epoch": -1}, {"member_epoch": -2, "instance_id": "i"}])
def test_what_is_valid(fields: dict[str, Any]) -> None:
    validate(request(**fields))
    validate(request(**{**fields, "rack_id": "r"}), is_4_4=fields["member_epoch"] == -2)


@pytest.mark.parametrize(("fields", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_is_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidRequestError, match=told):
        validate(request(**fields))


def test_topics_are_looked_at_first() -> None:
    invalid = sent(subtopology(sources=("no topic",), changelogs=(internal("c"),)))

    with pytest.raises(StreamsInvalidTopologyError, match="invalid topic"):
        validate(request(**{**JOINING, "member_id": "", "topology": invalid}))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"instance_id": "i"}, "Static members"),
        ({"task_offsets": ()}, "Offsets of tasks"),
        ({"task_end_offsets": (TaskOffset(subtopology_id="0", partition=0, offset=1),)}, "Offsets of tasks"),
        ({"active_tasks": (), "standby_tasks": (), "warmup_tasks": TASKS}, "Warm-up tasks"),
    ],
)
def test_what_releases_before_4_4_refuse(fields: dict[str, Any], told: str) -> None:
    validate(request(**STAYING, **fields))
    with pytest.raises(InvalidRequestError, match=told):
        validate(request(**STAYING, **fields), is_4_4=False)
