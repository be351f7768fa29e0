"""Records of consumer groups in `__consumer_offsets`: those of a real Kafka load into ours, and ours are Kafka's."""

import random
from functools import partial

import pytest

from kafka_groups.broker.coordinators.groups.consumer.groups import ConsumerGroups
from kafka_groups.broker.coordinators.groups.consumer.settings import ConsumerRules, ConsumerSources
from kafka_groups.broker.coordinators.groups.consumer.states import ConsumerGroupState, ConsumerMemberState
from kafka_groups.broker.coordinators.groups.records import GROUP_RECORDS
from kafka_groups.config.cluster.consumer_group import ConsumerGroupConfig
from kafka_groups.protocol.coordinator_records.consumer_group import OfConsumerGroup
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata
from kafka_groups.types import random_uuid
from tests.recording.golden_consumer_groups import (
    GROUP,
    INSTANCE,
    MEMBER_A,
    MEMBER_B,
    MEMBER_C,
    REGEX,
    TOPIC_A,
    TOPIC_B,
    load,
)
from tests.recording.golden_records import GoldenRecords
from tests.support.broker.share_groups import Topics

CODEC = GROUP_RECORDS


@pytest.fixture(scope="module")
def golden() -> GoldenRecords:
    return load()


def groups_after(golden: GoldenRecords, step: str) -> ConsumerGroups:
    sources = ConsumerSources(partial(random_uuid, random.Random(1)), lambda: 0)
    groups = ConsumerGroups(Topics(), ConsumerRules(lambda _: ConsumerGroupConfig(), 10, ("uniform", "range")), sources)
    steps = golden.steps[: golden.steps.index(step) + 1]
    for each in golden.records:
        record = CODEC.decode(each.stored.key, each.stored.value)
        if each.step in steps and isinstance(record, OfConsumerGroup):
            groups.replay(record)
    return groups


def test_kafkas_records_become_the_same_bytes_again(golden: GoldenRecords) -> None:
    kinds = set()
    for each in golden.records:
        record = CODEC.decode(each.stored.key, each.stored.value)
        kinds.add(type(record))
        assert CODEC.encode(record) == (each.stored.key, each.stored.value)
    assert len(kinds) == 8
    assert ClassicGroupMetadata in kinds, "in the end the group speaks the classic protocol"


def test_kafkas_records_load_into_our_groups(golden: GoldenRecords) -> None:
    topic_a, topic_b = golden.topic_ids[TOPIC_A], golden.topic_ids[TOPIC_B]
    group = groups_after(golden, "first member must revoke").group(GROUP)
    assert (group.epoch, group.assignment_epoch, group.state) == (3, 3, ConsumerGroupState.RECONCILING)
    revoking = group.current[MEMBER_A]
    assert (revoking.member_epoch, revoking.state) == (2, ConsumerMemberState.UNREVOKED_PARTITIONS)
    assert (revoking.assigned, revoking.revoking) == ({topic_a: {0: 2}}, {topic_a: {1: 2}})
    assert group.owners == {(topic_a, 0): MEMBER_A, (topic_a, 1): MEMBER_A}
    assert group.members[MEMBER_B].server_assignor == "range"

    group = groups_after(golden, "second member gets them").group(GROUP)
    assert (group.state, group.owners) == (
        ConsumerGroupState.STABLE,
        {(topic_a, 0): MEMBER_A, (topic_a, 1): MEMBER_B},
    )
    group = groups_after(golden, "member subscribes to a regex").group(GROUP)
    assert group.regexes[REGEX].topics == {TOPIC_A, TOPIC_B}
    assert group.subscribed_topics() == {TOPIC_A, TOPIC_B}
    group = groups_after(golden, "last member leaves").group(GROUP)
    assert (group.state, group.members, group.owners) == (ConsumerGroupState.EMPTY, {}, {})

    group = groups_after(golden, "static member is away").group(GROUP)
    assert (group.instances, group.current[MEMBER_C].member_epoch) == ({INSTANCE: MEMBER_C}, -2)
    group = groups_after(golden, "static member returns").group(GROUP)
    assert (group.instances, group.state) == ({INSTANCE: MEMBER_A}, ConsumerGroupState.STABLE)
    assert group.owners == {(topic_b, 0): MEMBER_A}
    members = groups_after(golden, "classic member joins").group(GROUP).members.values()
    classic = [each.classic_member_metadata for each in members]
    assert [each.supported_protocols[0].name for each in classic if each is not None] == ["range"]
    assert groups_after(golden, "static member leaves").groups == {}
