"""What a topology and a member of a streams group import: neither loads the other's half, nor anything heavy."""

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
