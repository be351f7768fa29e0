"""What offsets ask of classic groups: may they be committed, may they be deleted, do they expire."""

import struct
from collections.abc import Callable
from uuid import UUID

import pytest
from attrs import evolve

from kafka_groups.broker.coordinators.groups.classic.groups import ClassicGroups
from kafka_groups.broker.coordinators.groups.classic.joining import ClassicSources
from kafka_groups.broker.coordinators.groups.classic.settings import ClassicGroupSettings
from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.errors import (
    BrokerError,
    FencedInstanceIdError,
    GroupIdNotFoundError,
    IllegalGenerationError,
    NonEmptyGroupError,
    UnknownMemberIdError,
)
from kafka_groups.protocol.coordinator_records.offsets import (
    ClassicGroupMetadata,
    GroupMetadataMember,
    GroupMetadataValue,
)

GROUP = "g"
COMMITTED_MS, EMPTY_SINCE_MS = 1_000, 5_000


def subscription(*topics: str, version: int = 1, rest: bytes = b"\xff\xff\xff\xff") -> bytes:
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", version, len(topics)) + names + rest


def member(member_id: str, *, instance: str | None = None, topics: bytes = b"") -> GroupMetadataMember:
    return GroupMetadataMember(
        member_id=member_id,
        group_instance_id=instance,
        client_id="client",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        subscription=topics,
        assignment=b"mine",
    )


STABLE = GroupMetadataValue(
    protocol_type="consumer",
    generation=3,
    protocol="range",
    leader="a",
    current_state_timestamp_ms=EMPTY_SINCE_MS,
    members=(
        member("a", topics=subscription("orders")),
        member("s-1", instance="s", topics=subscription("bills", version=3, rest=b"")),
    ),
)
EMPTY = evolve(STABLE, members=(), protocol=None, leader=None)


def never() -> int:
    raise AssertionError


def never_id() -> UUID:
    raise AssertionError


def groups_with(value: GroupMetadataValue | None = None) -> ClassicGroups:
    groups = ClassicGroups(ClassicGroupSettings(), ClassicSources(never, never_id, lambda: 0))
    if value is not None:
        groups.replay(ClassicGroupMetadata(GROUP, value))
    groups.loaded(0)
    return groups


def test_a_group_without_members_takes_commits_of_consumers_that_do_not_join() -> None:
    groups = groups_with()
    with pytest.raises(GroupIdNotFoundError):
        groups.check_commit(GROUP, OffsetCommitter("", None, -1), 0)
    groups.ensure(GROUP)
    groups.check_commit(GROUP, OffsetCommitter("", None, -1), 0)
    groups.check_commit(GROUP, OffsetCommitter("anybody", None, -1), 0)
    with pytest.raises(UnknownMemberIdError):
        groups.check_commit(GROUP, OffsetCommitter("anybody", None, 0), 0)
    assert groups.groups[GROUP].stored is None
    assert groups.describe(GROUP).group_state == "Empty"
    assert groups.describe(GROUP).protocol_type == ""


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        (("", None, -1), UnknownMemberIdError),
        (("b", None, 3), UnknownMemberIdError),
        (("a", None, 2), IllegalGenerationError),
        (("a", None, -1), IllegalGenerationError),
        (("s-0", "s", 3), FencedInstanceIdError),
        (("s-1", "t", 3), UnknownMemberIdError),
    ],
)
def test_only_members_of_the_generation_commit(ids: tuple[str, str | None, int], error: type[BrokerError]) -> None:
    groups = groups_with(STABLE)
    with pytest.raises(error):
        groups.check_commit(GROUP, OffsetCommitter(*ids), 0)
    groups.check_commit(GROUP, OffsetCommitter("a", None, 3), 0)
    groups.check_commit(GROUP, OffsetCommitter("s-1", "s", 3), 0)
    groups.check_commit(GROUP, OffsetCommitter("s-1", None, 3), 0)


def test_a_commit_extends_the_session() -> None:
    groups = groups_with(STABLE)
    groups.check_commit(GROUP, OffsetCommitter("s-1", "s", 3), 4_000)
    assert groups.next_deadline_ms() == 10_000
    groups.check_commit(GROUP, OffsetCommitter("a", None, 3), 4_500)
    assert groups.next_deadline_ms() == 14_000


@pytest.mark.parametrize("topic", ["orders", "bills"])
def test_topics_of_members_are_in_use(topic: str) -> None:
    groups = groups_with(STABLE)
    groups.check_offset_delete(GROUP)
    assert groups.is_subscribed(GROUP, topic)
    assert groups.expiry_timestamp_base(GROUP, topic, COMMITTED_MS) is None
    assert not groups.is_subscribed(GROUP, "parcels")
    assert groups.expiry_timestamp_base(GROUP, "parcels", COMMITTED_MS) == COMMITTED_MS


@pytest.mark.parametrize(
    "unreadable",
    [
        b"",
        b"\0",
        b"\0\1\0\0",
        subscription("orders")[:-5],
        struct.pack(">hih", 1, 1, -1) + b"....",
        struct.pack(">hih", 1, 1, 1) + b"\xff",
    ],
)
def test_if_a_subscription_cannot_be_read_all_topics_are_in_use(unreadable: bytes) -> None:
    groups = groups_with(evolve(STABLE, members=(member("a", topics=unreadable),)))
    assert groups.is_subscribed(GROUP, "parcels")
    assert groups.expiry_timestamp_base(GROUP, "parcels", COMMITTED_MS) is None


def test_a_group_of_another_type_keeps_its_offsets_while_it_has_members() -> None:
    groups = groups_with(evolve(STABLE, protocol_type="connect"))
    assert not groups.is_subscribed(GROUP, "orders")
    assert groups.expiry_timestamp_base(GROUP, "orders", COMMITTED_MS) is None
    with pytest.raises(NonEmptyGroupError):
        groups.check_offset_delete(GROUP)


@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
def test_offsets_of_an_empty_group_are_kept_from_the_time_at_which_it_became_empty(protocol_type: str) -> None:
    groups = groups_with(evolve(EMPTY, protocol_type=protocol_type))
    groups.check_offset_delete(GROUP)
    assert not groups.is_subscribed(GROUP, "orders")
    assert groups.expiry_timestamp_base(GROUP, "orders", COMMITTED_MS) == EMPTY_SINCE_MS


def test_if_that_time_is_not_known_they_are_kept_from_the_commit() -> None:
    groups = groups_with(evolve(EMPTY, current_state_timestamp_ms=-1))
    assert groups.expiry_timestamp_base(GROUP, "orders", COMMITTED_MS) == COMMITTED_MS


def test_offsets_of_consumers_that_do_not_join_are_kept_from_the_commit() -> None:
    groups = groups_with()
    groups.ensure(GROUP)
    assert groups.expiry_timestamp_base(GROUP, "orders", COMMITTED_MS) == COMMITTED_MS


@pytest.mark.parametrize(
    "ask",
    [
        lambda groups: groups.check_offset_delete(GROUP),
        lambda groups: groups.is_subscribed(GROUP, "orders"),
        lambda groups: groups.expiry_timestamp_base(GROUP, "orders", COMMITTED_MS),
        lambda groups: groups.describe(GROUP),
        lambda groups: groups.delete(GROUP),
    ],
)
def test_a_group_that_does_not_exist(ask: Callable[[ClassicGroups], object]) -> None:
    with pytest.raises(GroupIdNotFoundError):
        ask(groups_with())


def test_a_group_with_members_cannot_be_deleted() -> None:
    with pytest.raises(NonEmptyGroupError):
        groups_with(STABLE).delete(GROUP)


@pytest.mark.parametrize("value", [EMPTY, None])
def test_an_empty_group_is_deleted_by_a_record(value: GroupMetadataValue | None) -> None:
    groups = groups_with(value)
    groups.ensure(GROUP)
    (tombstone,) = groups.delete(GROUP)
    assert tombstone == ClassicGroupMetadata(GROUP, None)
    assert GROUP in groups.groups
    groups.replay(tombstone)
    assert GROUP not in groups.groups


def test_a_tombstone_ends_sessions() -> None:
    groups = groups_with(STABLE)
    assert groups.next_deadline_ms() == 10_000
    groups.replay(ClassicGroupMetadata(GROUP, None))
    assert groups.next_deadline_ms() is None
    groups.replay(ClassicGroupMetadata(GROUP, None))


def test_a_loaded_group_is_stable_with_its_members() -> None:
    groups = groups_with(STABLE)
    described = groups.describe(GROUP)
    assert (described.group_state, described.protocol_type, described.protocol_data) == ("Stable", "consumer", "range")
    assert [each.member_id for each in described.members] == ["a", "s-1"]
    assert [each.group_instance_id for each in described.members] == [None, "s"]
    assert described.members[0].member_metadata == subscription("orders")
    assert described.members[0].member_assignment == b"mine"
    assert groups.groups[GROUP].stored == STABLE
    assert groups.groups[GROUP].current() == STABLE


def test_the_last_record_counts() -> None:
    groups = groups_with(STABLE)
    groups.replay(ClassicGroupMetadata(GROUP, EMPTY))
    assert groups.describe(GROUP).group_state == "Empty"
    assert groups.describe(GROUP).members == ()
    assert groups.groups[GROUP].current() == EMPTY
