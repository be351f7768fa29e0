"""Session timeouts: deadlines, expiry as an operation, and sessions after a change of coordinators."""

from copy import deepcopy

import pytest
from attrs import evolve

from kafka_groups.broker.coordinators.groups.epochs.group_deadlines import Deadline, DeadlineKind
from kafka_groups.errors import UnknownMemberIdError
from tests.support.broker.share_groups import GROUP, Coordination, assigned


@pytest.fixture
def coordination() -> Coordination:
    made = Coordination()
    made.topics.create("orders", 2)
    return made


def key(member_id: str) -> Deadline:
    return Deadline(GROUP, member_id, DeadlineKind.SESSION)


def test_the_last_deadline_counts_also_when_it_moves_back(coordination: Coordination) -> None:
    coordination.join("a", "orders")
    for timeout_ms in (60_000, 50_000):
        coordination.config = evolve(coordination.config, session_timeout_ms=timeout_ms)
        coordination.heartbeat("a", 3)
    assert coordination.coordinator.next_deadline_ms() == coordination.now_ms + 50_000


def test_no_deadline_without_members(coordination: Coordination) -> None:
    assert coordination.coordinator.next_deadline_ms() is None
    coordination.join("a", "orders")
    coordination.leave("a")
    assert coordination.coordinator.next_deadline_ms() is None


def test_a_member_expires_at_the_deadline_and_not_before(coordination: Coordination) -> None:
    coordination.join("a", "orders")
    deadline_ms = coordination.now_ms + 45_000
    assert coordination.coordinator.next_deadline_ms() == deadline_ms
    assert coordination.coordinator.expire(deadline_ms - 1) == ()
    assert coordination.coordinator.expire(deadline_ms) == (key("a"),)
    assert coordination.group.state == "Empty"


def test_heartbeats_of_every_kind_prolong_the_session(coordination: Coordination) -> None:
    coordination.join("a", "orders")
    for epoch, topics in ((3, None), (2, None), (0, ("orders",))):
        coordination.advance(40_000)
        coordination.heartbeat("a", epoch, topics)
        assert coordination.coordinator.expire(coordination.now_ms) == ()


def test_a_refused_heartbeat_does_not_prolong_the_session(coordination: Coordination) -> None:
    coordination.join("a", "orders")
    deadline_ms = coordination.coordinator.next_deadline_ms()
    coordination.advance(1_000)
    with pytest.raises(UnknownMemberIdError):
        coordination.heartbeat("b", 3)
    assert coordination.coordinator.next_deadline_ms() == deadline_ms


def test_the_others_take_over_and_each_expired_member_moves_the_group_epoch_on(coordination: Coordination) -> None:
    for member_id in ("a", "b", "c"):
        coordination.join(member_id, "orders")
    epoch = coordination.group.epoch
    coordination.advance(30_000)
    coordination.heartbeat("a", 0, ("orders",))
    coordination.advance(20_000)
    assert coordination.coordinator.expire(coordination.now_ms) == (key("b"), key("c"))
    assert coordination.group.epoch == epoch + 2
    assert assigned(coordination.heartbeat("a", 0, ("orders",))) == {1: (0, 1)}


def test_an_expired_member_is_unknown_and_joins_again_with_its_id(coordination: Coordination) -> None:
    coordination.join("a", "orders")
    coordination.advance(45_000)
    coordination.coordinator.expire(coordination.now_ms)
    with pytest.raises(UnknownMemberIdError):
        coordination.heartbeat("a", 3)
    assert coordination.heartbeat("a", 0, ("orders",)).member_epoch == 5


def test_timeout_is_the_groups_config(coordination: Coordination) -> None:
    coordination.config = evolve(coordination.config, session_timeout_ms=60_000)
    coordination.join("a", "orders")
    assert coordination.coordinator.next_deadline_ms() == coordination.now_ms + 60_000


def test_a_new_coordinator_knows_the_members_and_gives_them_a_full_session(coordination: Coordination) -> None:
    coordination.join("a", "orders")
    before = deepcopy(coordination.group)
    coordination.advance(40_000)
    coordination.fail_over()
    assert coordination.group == before
    assert coordination.coordinator.next_deadline_ms() == coordination.now_ms + 45_000
    assert coordination.heartbeat("a", 3).member_epoch == 3
