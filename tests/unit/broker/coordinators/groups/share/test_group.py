"""An operation of which only the first records are stored: the log split them into batches, and the broker died."""

from collections.abc import Callable, Iterator

import pytest

from kafka_groups.errors import BrokerError
from tests.support.broker.group_journal import StoppedError
from tests.support.broker.share_groups import GROUP, Coordination

Operation = Callable[[Coordination], object]

SESSION_TIMEOUT_MS = 45_000
MOST_RECORDS = 12


def join_with_the_same_topics(coordination: Coordination) -> object:
    return coordination.heartbeat("c", 0, ("orders",))


def subscribe_to_a_topic_of_another(coordination: Coordination) -> object:
    epoch = coordination.group.current["a"].member_epoch
    return coordination.heartbeat("a", epoch, ("bills", "orders"))


def subscribe_to_a_topic_of_nobody(coordination: Coordination) -> object:
    epoch = coordination.group.current["a"].member_epoch
    return coordination.heartbeat("a", epoch, ("parcels",))


def leave(coordination: Coordination) -> object:
    return coordination.leave("a")


def expire(coordination: Coordination) -> object:
    coordination.advance(SESSION_TIMEOUT_MS)
    return coordination.coordinator.expire(coordination.now_ms)


def prefixes(operation: Operation) -> Iterator[Coordination]:
    """The group after each prefix of the operation's records, with another coordinator."""
    for after in range(MOST_RECORDS):
        coordination = Coordination()
        for name, partitions in (("orders", 4), ("bills", 2), ("parcels", 2)):
            coordination.topics.create(name, partitions)
        coordination.join("a", "orders")
        coordination.join("b", "bills", "orders")
        converge(coordination, {"a": ("orders",), "b": ("bills", "orders")})
        coordination.journal.stops_after = after
        try:
            operation(coordination)
        except StoppedError:
            coordination.fail_over()
            yield coordination
        else:
            return
    pytest.fail(f"the operation has more than {MOST_RECORDS} records")


def converge(coordination: Coordination, members: dict[str, tuple[str, ...]]) -> None:
    """Heartbeats of these members, who name their topics, and join if they must, until nothing changes any more."""
    for _ in range(3):
        for member, topics in members.items():
            known = coordination.group.current_of(member).member_epoch
            try:
                coordination.heartbeat(member, known, topics)
            except BrokerError:
                coordination.heartbeat(member, 0, topics)


def check(coordination: Coordination, members: dict[str, tuple[str, ...]]) -> None:
    group, topics = coordination.group, coordination.topics
    assert group.members.keys() == group.current.keys() == group.target.keys() == members.keys()
    assert {current.member_epoch for current in group.current.values()} == {group.epoch} == {group.assignment_epoch}
    for name in {name for names in members.values() for name in names}:
        topic = topics.topic(name)
        assert topic is not None
        holders = [
            member
            for member, current in group.current.items()
            if any(partition.topic_id == topic.topic_id for partition in current.partitions)
        ]
        subscribers = sorted(member for member, names in members.items() if name in names)
        assert sorted(holders) == subscribers, f"{name} is not shared by all who subscribe to it"


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        (join_with_the_same_topics, {"a": ("orders",), "b": ("bills", "orders"), "c": ("orders",)}),
        (subscribe_to_a_topic_of_another, {"a": ("bills", "orders"), "b": ("bills", "orders")}),
        (subscribe_to_a_topic_of_nobody, {"a": ("parcels",), "b": ("bills", "orders")}),
        (leave, {"b": ("bills", "orders")}),
        (expire, {"a": ("orders",), "b": ("bills", "orders")}),
    ],
)
def test_the_group_goes_on_after_any_prefix(operation: Operation, members: dict[str, tuple[str, ...]]) -> None:
    cut = 0
    for coordination in prefixes(operation):
        if "a" not in members and "a" in coordination.group.members:
            coordination.leave("a")
        coordination.coordinator.describe(GROUP)
        converge(coordination, members)
        check(coordination, members)
        cut += 1
    assert cut > 1
