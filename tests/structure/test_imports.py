"""What topologies, members of streams groups and applications import: no other half, nor anything heavy."""

import subprocess
import sys

import pytest

TOPOLOGY = "from kafka_groups.streams import StreamsBuilder, Topology"
MEMBER = "from kafka_groups.streams import AsyncStreamsGroupMember, StreamsGroupMember"
NOT_FOR_A_TOPOLOGY = {
    "asyncio",
    "confluent_kafka",
    "kafka_groups.assignment.group.group_assignor",
    "kafka_groups.assignment.registry",
    "kafka_groups.assignment.group.sticky",
    "kafka_groups.client",
    "kafka_groups.config",
    "kafka_groups.librdkafka",
    "kafka_groups.net",
    "kafka_groups.protocol",
    "kafka_groups.streams.member.coordinated.membership",
    "kafka_groups.streams.processors.compile",
    "kafka_groups.streams.processors.foreign_keys",
    "kafka_groups.streams.processors.stateless",
    "kafka_groups.streams.processors.tables",
    "kafka_groups.streams.runtime",
    "kafka_groups.streams.tasks",
    "kafka_groups.streams.workers",
    "kio",
    "logging",
    "msgspec",
    "shutil",
    "socket",
    "ssl",
    "subprocess",
}
NOT_FOR_A_MEMBER = {
    "kafka_groups.librdkafka",
    "kafka_groups.streams.dsl",
    "kafka_groups.streams.processors",
    "kafka_groups.streams.queries",
    "kafka_groups.streams.runtime",
    "kafka_groups.streams.state",
    "kafka_groups.streams.tasks",
    "kafka_groups.streams.topology",
    "kafka_groups.streams.workers",
}

OF_CLASSIC_GROUPS = {
    "kafka_groups.admin.rules.streams_leader",
    "kafka_groups.assignment.application",
    "kafka_groups.protocol.consumer_protocol",
    "kafka_groups.protocol.messages.join_group",
    "kafka_groups.protocol.streams_user_data",
    "kafka_groups.streams.member.classic",
    "kafka_groups.streams.member.classic_membership",
    "kafka_groups.streams.member.group_leader",
}


def imported_by(program: str) -> set[str]:
    """The modules that a program imports in a process of its own."""
    command = [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("program", "unwanted", "wanted"),
    [
        (TOPOLOGY, NOT_FOR_A_TOPOLOGY, "kafka_groups.streams.dsl.stream"),
        (MEMBER, NOT_FOR_A_MEMBER, "kafka_groups.streams.member.coordinated.membership"),
    ],
    ids=["topology", "member"],
)
def test_only_what_is_used_is_imported(program: str, unwanted: set[str], wanted: str) -> None:
    imported = imported_by(program)
    assert unwanted & imported == set()
    assert wanted in imported


@pytest.mark.parametrize("protocol", ["streams", "classic"])
def test_only_an_application_that_chooses_it_imports_what_classic_groups_need(protocol: str) -> None:
    program = f"""
from kafka_groups.streams import KafkaStreams, StreamsBuilder
from kafka_groups.streams.workers.assembly import assembled_worker
from kafka_groups.config.clients.streams import streams_config
from kafka_groups.streams.workers.group_protocol import membership_of
membership_of(streams_config({{"application.id": "a", "bootstrap.servers": "b:1", "group.protocol": "{protocol}"}}))
"""
    found = OF_CLASSIC_GROUPS & imported_by(program)
    assert found == (OF_CLASSIC_GROUPS if protocol == "classic" else set())
