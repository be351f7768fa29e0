"""Share-partition state: when it is initialised, from which offset, and when it goes."""

import pytest

from kafka_groups.broker.coordinators.groups.share.records import ShareGroupRecord, StatePartitions
from kafka_groups.broker.coordinators.groups.share.state_partitions import first_offsets
from kafka_groups.broker.coordinators.result import Reply
from kafka_groups.broker.profile import PROFILES
from kafka_groups.errors import CoordinatorNotAvailableError, GroupIdNotFoundError, NonEmptyGroupError
from kafka_groups.protocol.coordinator_records.share_group import (
    ShareGroupMemberMetadata,
    ShareGroupStatePartitionMetadata,
)
from tests.support.broker.share_groups import GROUP, Coordination, assigned


@pytest.fixture
def coordination() -> Coordination:
    return Coordination()


def test_partitions_of_a_new_topic_begin_where_the_group_resets_to(coordination: Coordination) -> None:
    orders = coordination.topics.create("orders", 2)
    coordination.heartbeat("a", 0, ("orders",))
    assert coordination.share_states.start_offsets == {(GROUP, orders, 0): -1, (GROUP, orders, 1): -1}
    assert coordination.group.state_partitions == StatePartitions(
        initialized={orders: frozenset({0, 1})}, topic_names={orders: "orders"}
    )


def test_partitions_added_later_begin_at_0(coordination: Coordination) -> None:
    orders = coordination.topics.create("orders", 1)
    coordination.join("a", "orders")
    coordination.topics.grow("orders", 3)
    response = coordination.heartbeat("a", 3)
    assert (response.member_epoch, response.assignment) == (4, None)
    assert coordination.share_states.start_offsets == {
        (GROUP, orders, 0): -1,
        (GROUP, orders, 1): 0,
        (GROUP, orders, 2): 0,
    }
    assert assigned(coordination.heartbeat("a", 4)) == {1: (0, 1, 2)}


def test_a_topic_created_after_the_subscription_is_initialised_then(coordination: Coordination) -> None:
    coordination.heartbeat("a", 0, ("later",))
    assert coordination.share_states.start_offsets == {}
    later = coordination.topics.create("later", 1)
    epoch = coordination.heartbeat("a", 2).member_epoch
    assert coordination.share_states.start_offsets == {(GROUP, later, 0): -1}
    assert assigned(coordination.heartbeat("a", epoch)) == {1: (0,)}


def test_state_outlives_the_subscription(coordination: Coordination) -> None:
    orders = coordination.topics.create("orders", 1)
    coordination.join("a", "orders")
    coordination.leave("a")
    assert (GROUP, orders, 0) in coordination.share_states.start_offsets


def test_a_deleted_topic_is_forgotten_with_the_next_heartbeat(coordination: Coordination) -> None:
    coordination.topics.create("orders", 2)
    coordination.join("a", "orders")
    coordination.topics.delete("orders")
    assert assigned(coordination.heartbeat("a", 3)) == {}
    assert coordination.group.state_partitions == StatePartitions()


def test_a_deleted_topic_is_forgotten_when_its_deletion_is_told(coordination: Coordination) -> None:
    coordination.topics.create("orders", 2)
    bills = coordination.topics.create("bills", 1)
    coordination.join("a", "orders", "bills")
    coordination.leave("a")
    coordination.delete_and_tell("orders")
    assert coordination.group.state_partitions.topic_names == {bills: "bills"}


def test_a_topic_created_again_starts_anew(coordination: Coordination) -> None:
    coordination.topics.create("orders", 2)
    coordination.join("a", "orders")
    coordination.topics.delete("orders")
    again = coordination.topics.create("orders", 1)
    first = coordination.heartbeat("a", 3)
    assert (first.member_epoch, assigned(first)) == (4, {})
    second = coordination.heartbeat("a", 4)
    assert (second.member_epoch, assigned(second)) == (5, {2: (0,)})
    assert coordination.share_states.start_offsets[GROUP, again, 0] == -1


def test_initialisation_that_was_interrupted_is_continued_by_the_next_coordinator(coordination: Coordination) -> None:
    orders = coordination.topics.create("orders", 2)
    coordination.join("a", "orders")
    interrupted: ShareGroupRecord = ShareGroupStatePartitionMetadata(
        GROUP, StatePartitions(initializing={orders: frozenset({0, 1})}, topic_names={orders: "orders"})
    )
    coordination.journal.append([interrupted])
    coordination.share_states.start_offsets.clear()
    coordination.fail_over()
    assert coordination.share_states.start_offsets == {(GROUP, orders, 0): -1, (GROUP, orders, 1): -1}


def test_only_a_topic_with_initialised_partitions_gets_offset_0(coordination: Coordination) -> None:
    old, new = coordination.topics.create("old", 2), coordination.topics.create("new", 1)
    state = StatePartitions(initialized={old: frozenset({0})})
    initializing = {old: frozenset({1}), new: frozenset({0})}
    assert first_offsets(state, initializing) == {(old, 1): 0, (new, 0): -1}


class TestDeletingAGroup:
    def test_group_with_members(self, coordination: Coordination) -> None:
        coordination.topics.create("orders", 1)
        coordination.join("a", "orders")
        with pytest.raises(NonEmptyGroupError):
            coordination.coordinator.delete_group(GROUP)
        assert len(coordination.share_states.start_offsets) == 1

    def test_unknown_group(self, coordination: Coordination) -> None:
        with pytest.raises(GroupIdNotFoundError, match="Group group not found"):
            coordination.coordinator.delete_group(GROUP)

    def test_nothing_is_left(self, coordination: Coordination) -> None:
        coordination.topics.create("orders", 1)
        coordination.join("a", "orders")
        coordination.leave("a")
        coordination.coordinator.delete_group(GROUP)
        assert coordination.share_states.start_offsets == {}
        assert len(coordination.journal) == 0
        assert GROUP not in coordination.coordinator.groups

    def test_a_new_group_of_that_name_starts_anew(self, coordination: Coordination) -> None:
        coordination.topics.create("orders", 1)
        coordination.join("a", "orders")
        coordination.leave("a")
        coordination.coordinator.delete_group(GROUP)
        response = coordination.heartbeat("a", 0, ("orders",))
        assert (response.member_epoch, assigned(response)) == (2, {})


def test_records_come_before_the_answer_and_tell_the_member_first(coordination: Coordination) -> None:
    coordination.topics.create("orders", 1)
    coordination.heartbeat("a", 0, ("orders",))
    first, *_ = coordination.journal
    assert isinstance(first, ShareGroupMemberMetadata)


@pytest.mark.parametrize(("profile", "epoch"), [("4.2", 0), ("4.3", 1), ("4.4", 1)])
def test_start_offsets_make_a_group_that_a_later_coordinator_knows(profile: str, epoch: int) -> None:
    coordination = Coordination(profile=PROFILES[profile])
    orders = coordination.topics.create("orders", 2)
    coordination.coordinator.alter_start_offsets(GROUP, {(orders, 1): 7}, {orders: "orders"})
    assert (coordination.group.epoch, coordination.group.assignment_epoch) == (epoch, epoch)
    assert coordination.share_states.start_offsets == {(GROUP, orders, 1): 7}
    known = coordination.group.state_partitions
    assert known == StatePartitions(initialized={orders: frozenset({1})}, topic_names={orders: "orders"})
    known_group = coordination.group
    coordination.fail_over()
    assert coordination.group == known_group


def test_a_member_that_joins_gets_the_partitions_that_had_no_start_offset_too(coordination: Coordination) -> None:
    orders = coordination.topics.create("orders", 2)
    coordination.coordinator.alter_start_offsets(GROUP, {(orders, 1): 7}, {orders: "orders"})
    assert assigned(coordination.join("a", "orders")) == {1: (0, 1)}
    assert coordination.share_states.start_offsets == {(GROUP, orders, 0): 0, (GROUP, orders, 1): 7}


def test_forgotten_topics_are_initialised_anew(coordination: Coordination) -> None:
    orders = coordination.topics.create("orders", 1)
    coordination.join("a", "orders")
    coordination.leave("a")
    assert coordination.coordinator.delete_start_offsets(GROUP, [orders]) == {orders}
    assert coordination.coordinator.delete_start_offsets(GROUP, [orders]) == frozenset()
    assert coordination.share_states.start_offsets == {}
    assert coordination.group.state_partitions == StatePartitions()
    assert assigned(coordination.join("b", "orders")) == {1: (0,)}


def begin_deletion(coordination: Coordination) -> None:
    """An administrator deletes the states of a topic with two partitions. The share coordinator does not answer."""
    orders = coordination.topics.create("orders", 2)
    coordination.join("a", "orders")
    coordination.leave("a")
    coordination.share_states.answers = False
    with pytest.raises(KeyError):  # no answer yet
        coordination.coordinator.delete_start_offsets(GROUP, [orders])


def test_a_topic_that_is_being_deleted_is_not_assigned_and_begins_anew_afterwards(coordination: Coordination) -> None:
    begin_deletion(coordination)
    epoch = coordination.heartbeat("b", 0, ("orders",)).member_epoch
    assert assigned(coordination.heartbeat("b", epoch, ("orders",))) == {}
    coordination.share_states.answers = True
    [deletion] = coordination.share_states.unanswered
    coordination.share_states.perform(deletion)
    coordination.coordinator.commit(coordination.coordinator.shard.share_state_settled(deletion, None))
    assert coordination.share_states.start_offsets == {}
    epoch = coordination.heartbeat("b", epoch).member_epoch
    assert assigned(coordination.heartbeat("b", epoch, ("orders",))) == {1: (0, 1)}


def test_a_deletion_that_nobody_finished_is_finished_by_the_next_coordinator(coordination: Coordination) -> None:
    begin_deletion(coordination)
    coordination.share_states.answers = True
    coordination.fail_over()
    assert coordination.share_states.start_offsets == {}
    assert coordination.group.state_partitions == StatePartitions()


def test_a_topic_that_goes_while_its_state_is_deleted_keeps_nobody_waiting(coordination: Coordination) -> None:
    begin_deletion(coordination)
    coordination.share_states.answers = True
    coordination.topics.delete("orders")
    coordination.coordinator.delete_group(GROUP)
    assert GROUP not in coordination.coordinator.groups


class TestAShareCoordinatorThatFails:
    ERROR = CoordinatorNotAvailableError()

    def test_initialisation_is_tried_again_with_the_next_heartbeat(self, coordination: Coordination) -> None:
        orders = coordination.topics.create("orders", 1)
        coordination.share_states.error = self.ERROR
        epoch = coordination.heartbeat("a", 0, ("orders",)).member_epoch
        assert coordination.group.state_partitions == StatePartitions()
        coordination.share_states.error = None
        epoch = coordination.heartbeat("a", epoch).member_epoch
        assert coordination.share_states.start_offsets == {(GROUP, orders, 0): -1}
        assert assigned(coordination.heartbeat("a", epoch, ("orders",))) == {1: (0,)}

    def test_a_group_that_cannot_be_deleted_goes_on(self, coordination: Coordination) -> None:
        orders = coordination.topics.create("orders", 1)
        coordination.join("a", "orders")
        coordination.leave("a")
        coordination.share_states.error = self.ERROR
        for _ in range(2):
            with pytest.raises(CoordinatorNotAvailableError):
                coordination.coordinator.delete_group(GROUP)
        coordination.share_states.start_offsets[GROUP, orders, 0] = 7
        coordination.share_states.error = None
        epoch = coordination.join("b", "orders").member_epoch  # the first heartbeat finishes the deletion
        assert assigned(coordination.heartbeat("b", epoch, ("orders",))) == {1: (0,)}
        assert coordination.share_states.start_offsets == {(GROUP, orders, 0): -1}

    def test_a_group_that_could_not_be_deleted_leaves_nothing_when_it_can(self, coordination: Coordination) -> None:
        coordination.topics.create("orders", 1)
        coordination.join("a", "orders")
        coordination.leave("a")
        coordination.share_states.error = self.ERROR
        with pytest.raises(CoordinatorNotAvailableError):
            coordination.coordinator.delete_group(GROUP)
        coordination.share_states.error = None
        coordination.coordinator.delete_group(GROUP)
        assert coordination.share_states.start_offsets == {}
        assert GROUP not in coordination.coordinator.groups

    def test_the_administrator_hears_of_it(self, coordination: Coordination) -> None:
        orders = coordination.topics.create("orders", 1)
        coordination.share_states.error = self.ERROR
        with pytest.raises(CoordinatorNotAvailableError):
            coordination.coordinator.alter_start_offsets(GROUP, {(orders, 0): 7}, {orders: "orders"})
        coordination.share_states.error = None
        coordination.coordinator.alter_start_offsets(GROUP, {(orders, 0): 7}, {orders: "orders"})
        assert coordination.share_states.start_offsets == {(GROUP, orders, 0): 7}


def test_a_member_that_joins_while_its_group_is_deleted_keeps_the_group(coordination: Coordination) -> None:
    coordination.topics.create("orders", 1)
    coordination.join("a", "orders")
    coordination.leave("a")
    coordination.share_states.answers = False
    with pytest.raises(KeyError):
        coordination.coordinator.delete_group(GROUP)
    epoch = coordination.heartbeat("b", 0, ("orders",)).member_epoch
    coordination.share_states.answers = True
    [deletion] = coordination.share_states.unanswered
    coordination.share_states.perform(deletion)
    result = coordination.coordinator.shard.share_state_settled(deletion, None)
    [answer] = result.effects
    assert isinstance(answer, Reply)
    assert isinstance(answer.outcome, NonEmptyGroupError)
    coordination.coordinator.commit(result)
    epoch = coordination.heartbeat("b", epoch).member_epoch
    assert assigned(coordination.heartbeat("b", epoch, ("orders",))) == {1: (0,)}
