"""What Kafka 4.3 refuses of streams groups, the embedded broker with that profile refuses too."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.messages.streams_group_heartbeat import LEAVE_STATIC_EPOCH, StreamsGroupHeartbeatRequest
from kafka_groups.protocol.messages.streams_group_parts import TaskIds, TaskOffset
from kafka_groups.streams import GroupTopologyBuilder
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.requests.raw_client import RawClient

PROFILE, RELEASE = "4.3", "4.3.1"
TOPOLOGY = GroupTopologyBuilder().add_subtopology("0", sources=["in"]).build().to_wire()
OFFSETS = (TaskOffset(subtopology_id="0", partition=0, offset=7),)
TASKS = (TaskIds(subtopology_id="0", partitions=(0,)),)

REFUSED: Mapping[str, Mapping[str, Any]] = {
    "a static member": {"instance_id": "i"},
    "offsets of tasks": {"task_offsets": OFFSETS},
    "end offsets of tasks": {"task_end_offsets": OFFSETS},
    "a static member that leaves for a while": {
        "instance_id": "i", "member_epoch": LEAVE_STATIC_EPOCH, "topology": None, "active_tasks": None,
        "standby_tasks": None, "warmup_tasks": None,
    },
    "warm-up tasks": {"warmup_tasks": TASKS, "topology": None, "member_epoch": 1},
}  # fmt: skip


def heartbeat(changes: Mapping[str, Any]) -> StreamsGroupHeartbeatRequest:
    """A member that joins, but for these changes."""
    fields: dict[str, Any] = {
        "group_id": "app", "member_id": "A" * 22, "member_epoch": 0, "process_id": "p", "rebalance_timeout_ms": 30_000,
        "topology": TOPOLOGY, "active_tasks": (), "standby_tasks": (), "warmup_tasks": (), "client_tags": (),
    }  # fmt: skip
    return StreamsGroupHeartbeatRequest(**{**fields, **changes})


async def answers(bootstrap_servers: str) -> dict[str, str]:
    """The error for each of the heartbeats, and for one that joins well while there are no coordinators yet."""
    host, _, port = bootstrap_servers.rpartition(":")
    found = {}
    async with RawClient(TcpNetwork(), host, int(port)) as client:
        for name, changes in {**REFUSED, "a member": {}}.items():
            response = await client.ask(heartbeat(changes), 0)
            found[name] = response.error_code.name
    return found


async def of_the_embedded_broker() -> dict[str, str]:
    async with EmbeddedCluster(profile=PROFILE) as cluster:
        return await answers(cluster.bootstrap_servers)


async def test_static_members_offsets_and_warmups_are_refused() -> None:
    expected = {**dict.fromkeys(REFUSED, "INVALID_REQUEST"), "a member": "NOT_COORDINATOR"}
    assert await of_the_embedded_broker() == expected


@pytest.mark.real_kafka
@pytest.mark.slow
async def test_kafka_refuses_the_same() -> None:
    with KafkaProcess(RELEASE) as kafka:
        expected = await answers(kafka.bootstrap_servers)
    assert await of_the_embedded_broker() == expected
