"""The records of a group that changes its type, as a real Kafka wrote them: our groups load from them at each step."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from kafka_groups.broker.coordinators.groups.group_type import GroupType
from kafka_groups.broker.coordinators.groups.records import GROUP_RECORDS
from kafka_groups.protocol.coordinator_records.consumer_group import OfConsumerGroup
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata
from tests.recording.golden_consumer_groups import GROUP, MEMBER_A, TOPIC_A
from tests.recording.golden_group_migration import OFFSET, assigned, load
from tests.recording.golden_records import GoldenRecords
from tests.unit.broker.coordinators.groups.scenes import Groups
from tests.unit.broker.coordinators.groups.test_migration import Scene

CODEC = GROUP_RECORDS
TWO_PARTITIONS_OF_T = (
    b"\x00\x00\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff"
)

TYPES: Mapping[str, tuple[GroupType, str]] = MappingProxyType({
    "classic group": (GroupType.CLASSIC, "Stable"),
    "classic member commits": (GroupType.CLASSIC, "Stable"),
    "consumer joins": (GroupType.CONSUMER, "Reconciling"),
    "classic member joins again": (GroupType.CONSUMER, "Reconciling"),
    "consumer gets a partition": (GroupType.CONSUMER, "Stable"),
    "consumer leaves": (GroupType.CLASSIC, "Stable"),
    "classic member leaves": (GroupType.CLASSIC, "Empty"),
    "consumer joins the empty group": (GroupType.CONSUMER, "Stable"),
    "empty consumer group": (GroupType.CONSUMER, "Empty"),
    "classic member joins the empty group": (GroupType.CLASSIC, "Empty"),
    "empty classic group": (GroupType.CLASSIC, "Empty"),
})  # fmt: skip
"""By step, the type and the state of the group that the next coordinator finds."""


@pytest.fixture(scope="module")
def golden() -> GoldenRecords:
    return load()


def after(golden: GoldenRecords, step: str) -> Groups:
    """What a coordinator has that loads the records up to a step."""
    groups = Groups()
    groups.topics.create(TOPIC_A, 2)
    steps = golden.steps[: golden.steps.index(step) + 1]
    read = (CODEC.decode(each.stored.key, each.stored.value) for each in golden.records if each.step in steps)
    groups.records = list(read)
    groups.reload()
    return groups


def listed(groups: Groups) -> list[tuple[str, GroupType, str]]:
    return [(each.group_id, each.type, each.state) for each in groups.shard.listed()]


def test_every_step_is_loaded(golden: GoldenRecords) -> None:
    assert golden.steps == tuple(TYPES)
    for step, shown in TYPES.items():
        assert listed(after(golden, step)) == [(GROUP, *shown)], step


def test_offsets_stay_with_the_group(golden: GoldenRecords) -> None:
    for step in golden.steps[1:]:
        assert after(golden, step).offsets(GROUP) == {(TOPIC_A, 0): OFFSET}, step


def test_members_keep_their_partitions(golden: GoldenRecords) -> None:
    [old] = after(golden, "classic group").shard.classic.group(GROUP).members
    topic_id = golden.topic_ids[TOPIC_A]
    group = after(golden, "consumer joins").shard.consumer.group(GROUP)
    assert set(group.members) == {old, MEMBER_A}
    assert group.owners == {(topic_id, 0): old, (topic_id, 1): old}
    classic = group.members[old].classic_member_metadata
    assert classic is not None
    assert [each.name for each in classic.supported_protocols] == ["range"]
    assert group.members[MEMBER_A].classic_member_metadata is None
    group = after(golden, "consumer gets a partition").shard.consumer.group(GROUP)
    assert sorted(group.owners.values()) == sorted([old, MEMBER_A])
    [own] = [number for (_, number), owner in group.owners.items() if owner == old]
    downgraded = after(golden, "consumer leaves").shard.classic.group(GROUP)
    assert (downgraded.generation, downgraded.leader, downgraded.protocol) == (2, old, "range")
    assert downgraded.members[old].assignment == assigned(own)


def test_kafkas_records_become_the_same_bytes_again(golden: GoldenRecords) -> None:
    for each in golden.records:
        assert CODEC.encode(CODEC.decode(each.stored.key, each.stored.value)) == (each.stored.key, each.stored.value)


def test_our_records_are_of_kafkas_types(golden: GoldenRecords) -> None:
    scene = Scene(initial_rebalance_delay_ms=100)
    scene.topics.create("t", 2)
    old = scene.stable_classic_with(TWO_PARTITIONS_OF_T)
    count = len(scene.records)
    scene.beat(0)
    assert list(map(_kind, scene.records[count:])) == _kinds(golden, "consumer joins")
    scene.join(old)
    count = len(scene.records)
    scene.beat(-1)
    assert sorted(map(_kind, scene.records[count:])) == sorted(_kinds(golden, "consumer leaves"))


def _kinds(golden: GoldenRecords, step: str) -> list[tuple[str, bool]]:
    read = [CODEC.decode(each.stored.key, each.stored.value) for each in golden.records if each.step == step]
    return [_kind(record) for record in read]


def _kind(record: Any) -> tuple[str, bool]:
    kind = type(record).__name__, record.value is None
    assert isinstance(record, ClassicGroupMetadata | OfConsumerGroup)
    return kind
