"""What brokers are asked before a plan of a classic group, and what makes a plan impossible."""

from typing import Any

import pytest
from attrs import evolve

from kafka_groups.errors import (
    GroupIdNotFoundError,
    IllegalStateError,
    KafkaGroupsError,
    MemberDataError,
    TopicAuthorizationFailedError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.member_data import INT32
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from tests.support.assignors.led_rounds import settled
from tests.support.assignors.planned_groups import answering, plan_of
from tests.unit.admin.rules.streams_leader.scenes import COUNTS, IN, WORDS, A, group, member

LED = settled(group(member("a-1", A)))


def refused(error: type[KafkaGroupsError], **group_fields: Any) -> str:
    """The text of the error about a group that brokers show like this."""
    brokers = answering(LED)
    with pytest.raises(error) as caught:
        plan_of(LED, brokers=evolve(brokers, group=evolve(brokers.group, **group_fields)))
    return str(caught.value)


def shown(**fields: Any) -> dict[str, Any]:
    """The group's member with other fields."""
    [each] = LED.shown.members
    return {"members": (evolve(each, **fields),)}


@pytest.mark.parametrize("missing", [(), (COUNTS,), (WORDS, COUNTS)])
def test_only_questions_that_change_nothing_are_asked(missing: tuple[str, ...]) -> None:
    brokers = answering(LED)
    for name in missing:
        del brokers.topics.counts[name]
    assert plan_of(LED, brokers=brokers).missing_topics == missing
    assert set(brokers.topics.asked) <= {ApiKey.METADATA, ApiKey.LIST_OFFSETS}


def test_a_group_without_members_has_nothing_to_move() -> None:
    text = refused(IllegalStateError, group_state="Empty", protocol_data="", members=())
    assert text == (
        "The classic group app is Empty. It has no members, so there is nothing to move. Start its application first."
    )


def test_a_group_that_rebalances_is_refused_with_its_state() -> None:
    text = refused(IllegalStateError, group_state="PreparingRebalance", protocol_data="")
    assert text.startswith("The classic group app is PreparingRebalance (protocol type 'consumer', 1 member). ")


@pytest.mark.parametrize("fields", [{"protocol_data": "range"}, {"protocol_type": "connect", "protocol_data": "v1"}])
def test_a_group_of_others_is_refused_with_its_protocols(fields: dict[str, str]) -> None:
    text = refused(GroupIdNotFoundError, **fields)
    assert all(f"'{each}'" in text for each in fields.values())
    assert text.endswith(
        "A plan with a topology is one of a classic group of a streams application: a streams group has its own."
    )


def test_user_data_of_a_later_version_is_refused_with_the_member() -> None:
    later = ConsumerProtocolSubscription(user_data=INT32.pack(12) + INT32.pack(12) + b"later").encode()
    text = refused(MemberDataError, **shown(member_metadata=later))
    assert "has the member a-1 of the client" in text
    assert "version 12" in text


@pytest.mark.parametrize("data", [None, b"", b"\0\0\0\x0b"])
def test_user_data_that_cannot_be_read_is_refused_with_the_member(data: bytes | None) -> None:
    broken = ConsumerProtocolSubscription(user_data=data).encode()
    assert "has the member a-1 of the client" in refused(MemberDataError, **shown(member_metadata=broken))


def test_an_error_that_the_leader_has_told_is_named() -> None:
    told = ConsumerProtocolAssignment(user_data=AssignmentInfo(error_code=3).encode()).encode()
    text = refused(IllegalStateError, **shown(member_assignment=told))
    assert text.startswith(
        "The leader of the classic group app has assigned no tasks, but told its members the error 3"
    )


def test_source_topics_that_do_not_exist_are_named() -> None:
    brokers = answering(LED)
    del brokers.topics.counts[IN]
    with pytest.raises(IllegalStateError, match=f"Source topics of the topology do not exist: {IN}\\."):
        plan_of(LED, brokers=brokers)


def test_topics_that_may_not_be_described_are_an_error() -> None:
    brokers = answering(LED)
    brokers.topics.errors = {ApiKey.METADATA: {IN: ErrorCode.TOPIC_AUTHORIZATION_FAILED}}
    with pytest.raises(TopicAuthorizationFailedError):
        plan_of(LED, brokers=brokers)


def test_internal_topics_with_other_numbers_of_partitions_are_named() -> None:
    brokers = answering(LED)
    brokers.topics.counts[WORDS] = 3
    with pytest.raises(IllegalStateError, match=f"Topic {WORDS} has 3 partitions, but the application needs 2"):
        plan_of(LED, brokers=brokers)


def test_starts_that_are_not_known_are_a_warning() -> None:
    brokers = evolve(answering(LED), refused_starts={COUNTS: ErrorCode.TOPIC_AUTHORIZATION_FAILED})
    [warning] = plan_of(LED, brokers=brokers).warnings
    assert warning.startswith("Some numbers of records are unknown, because offsets of changelogs are unknown: TopicAu")
