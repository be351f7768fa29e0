"""A heartbeat that changes nothing costs the same in any group."""

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn
from uuid import UUID

import pytest

from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from tests.support.broker.share_groups import Coordination, Topics, assigned


class Walked(dict[str, Any]):
    """A table that nobody may walk over."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("walked over the whole table")

    def _refuse(self) -> NoReturn:
        raise AssertionError("walked over the whole table")

    keys = values = items = copy = _refuse


@pytest.fixture
def coordination() -> Coordination:
    return Coordination()


def guard(group: ShareGroup, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody walk over the members, or look at a topic."""
    for table in ("members", "target", "current", "subscribers"):
        known: Mapping[str, Any] = getattr(group, table)
        monkeypatch.setattr(group, table, Walked(known))

    def refuse(_topic: str | UUID) -> NoReturn:
        raise AssertionError("looked at a topic")

    monkeypatch.setattr(topics, "topic", refuse)
    monkeypatch.setattr(topics, "topic_by_id", refuse)


def test_an_unchanged_heartbeat_looks_at_no_other_member_and_no_topic(
    coordination: Coordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordination.topics.create("orders", 2)
    for member in "abc":
        coordination.join(member, "orders")
    epochs = {member: coordination.group.current[member].member_epoch for member in "abc"}
    epochs = {member: coordination.heartbeat(member, epoch).member_epoch for member, epoch in epochs.items()}
    group = coordination.group
    coordination.heartbeat("a", epochs["a"])
    guard(group, coordination.topics, monkeypatch)

    for member, epoch in epochs.items():
        assert coordination.heartbeat(member, epoch).assignment is None
    assert len(group.members) == 3


def test_a_member_that_says_something_else_costs_no_walk_over_the_others(
    coordination: Coordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordination.topics.create("orders", 2)
    epoch = coordination.join("a", "orders").member_epoch
    coordination.heartbeat("a", epoch)
    group = coordination.group
    for table in ("members", "target", "current", "subscribers"):
        monkeypatch.setattr(group, table, Walked(getattr(group, table)))

    coordination.heartbeat("a", epoch, rack_id="r")

    assert group.members["a"].rack_id == "r"


def test_a_topic_that_grows_is_noticed_by_a_settled_group(coordination: Coordination) -> None:
    coordination.topics.create("orders", 1)
    epoch = coordination.join("a", "orders").member_epoch
    coordination.heartbeat("a", epoch)
    coordination.topics.grow("orders", 2)
    epoch = coordination.heartbeat("a", epoch).member_epoch
    assert assigned(coordination.heartbeat("a", epoch)) == {1: (0, 1)}


def test_a_member_that_is_gone_is_forgotten(coordination: Coordination) -> None:
    coordination.topics.create("orders", 1)
    coordination.join("a", "orders")
    coordination.join("b", "orders")
    coordination.leave("a")
    [settled] = coordination.coordinator.shard._unchanged_inputs.values()
    assert list(settled._members) == ["b"]
