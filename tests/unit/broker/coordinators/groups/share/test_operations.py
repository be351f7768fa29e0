"""Heartbeats: what is refused, how epochs move, and when the assignment is sent. Epochs are those of Kafka 4.4."""

from copy import deepcopy

import pytest
from attrs import evolve

from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import (
    FencedMemberEpochError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    InvalidRequestError,
    UnknownMemberIdError,
)
from tests.support.broker.share_groups import GROUP, Coordination, assigned


@pytest.fixture
def coordination() -> Coordination:
    made = Coordination()
    made.topics.create("orders", 2)
    made.topics.create("bills", 3)
    return made


class TestValidation:
    @pytest.mark.parametrize("member_id", ["", "  ", "x" * 37])
    def test_member_id_must_have_1_to_36_characters(self, coordination: Coordination, member_id: str) -> None:
        with pytest.raises(InvalidRequestError, match="MemberId"):
            coordination.heartbeat(member_id, 0, ("orders",))

    def test_member_id_of_36_characters_is_fine(self, coordination: Coordination) -> None:
        assert coordination.heartbeat("x" * 36, 0, ("orders",)).member_id == "x" * 36

    @pytest.mark.parametrize("group_id", ["", " "])
    def test_group_id_must_not_be_empty(self, coordination: Coordination, group_id: str) -> None:
        with pytest.raises(InvalidRequestError, match="GroupId can't be empty"):
            coordination.heartbeat("a", 0, ("orders",), group_id=group_id)

    def test_rack_must_not_be_empty(self, coordination: Coordination) -> None:
        with pytest.raises(InvalidRequestError, match="RackId can't be empty"):
            coordination.heartbeat("a", 0, ("orders",), rack_id="")

    def test_epoch_below_minus_one(self, coordination: Coordination) -> None:
        with pytest.raises(InvalidRequestError, match="MemberEpoch is invalid"):
            coordination.heartbeat("a", -2)

    @pytest.mark.parametrize("topics", [None, ()])
    def test_join_without_topics(self, coordination: Coordination, topics: tuple[str, ...] | None) -> None:
        with pytest.raises(InvalidRequestError, match="SubscribedTopicNames must be set in first request"):
            coordination.heartbeat("a", 0, topics)

    def test_a_refused_request_leaves_no_group(self, coordination: Coordination) -> None:
        with pytest.raises(InvalidRequestError):
            coordination.heartbeat("a", 0)
        assert not coordination.coordinator.groups

    @pytest.mark.parametrize("epoch", [1, -1])
    def test_unknown_group(self, coordination: Coordination, epoch: int) -> None:
        with pytest.raises(GroupIdNotFoundError, match="group not found"):
            coordination.heartbeat("a", epoch)

    @pytest.mark.parametrize("epoch", [1, -1])
    def test_unknown_member(self, coordination: Coordination, epoch: int) -> None:
        coordination.join("a", "orders")
        with pytest.raises(UnknownMemberIdError, match="Member b is not a member of group group"):
            coordination.heartbeat("b", epoch)

    def test_full_group_takes_no_new_member_but_old_ones_again(self) -> None:
        coordination = Coordination(max_size=2)
        coordination.topics.create("orders", 2)
        coordination.join("a", "orders")
        coordination.join("b", "orders")
        with pytest.raises(GroupMaxSizeReachedError, match="maximum capacity of 2 members"):
            coordination.heartbeat("c", 0, ("orders",))
        assert coordination.heartbeat("b", 0, ("orders",)).member_id == "b"


class TestEpochs:
    def test_first_member_has_epoch_2_and_an_empty_assignment_until_the_partitions_are_initialised(
        self, coordination: Coordination
    ) -> None:
        first = coordination.heartbeat("a", 0, ("orders",))
        assert (first.member_epoch, assigned(first)) == (2, {})
        second = coordination.heartbeat("a", 2)
        assert (second.member_epoch, assigned(second)) == (3, {1: (0, 1)})

    def test_response_names_member_and_heartbeat_interval(self, coordination: Coordination) -> None:
        coordination.config = evolve(coordination.config, heartbeat_interval_ms=7_000)
        response = coordination.heartbeat("a", 0, ("orders",))
        assert (response.member_id, response.heartbeat_interval_ms) == ("a", 7_000)

    def test_greater_epoch_is_fenced(self, coordination: Coordination) -> None:
        epoch = coordination.join("a", "orders").member_epoch
        with pytest.raises(FencedMemberEpochError, match=r"greater member epoch \(4\) than the one known .* \(3\)"):
            coordination.heartbeat("a", epoch + 1)

    def test_previous_epoch_is_accepted_once_more(self, coordination: Coordination) -> None:
        epoch = coordination.join("a", "orders").member_epoch
        assert coordination.heartbeat("a", epoch - 1).member_epoch == epoch

    def test_older_epoch_is_fenced(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        epoch = coordination.heartbeat("a", 3, ("orders", "bills")).member_epoch
        with pytest.raises(FencedMemberEpochError, match=r"smaller member epoch \(2\).* previous member epoch \(3\)"):
            coordination.heartbeat("a", epoch - 2)

    def test_joining_again_is_always_accepted_and_changes_nothing(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        before = deepcopy(coordination.group)
        again = coordination.heartbeat("a", 0, ("orders",))
        assert (again.member_epoch, assigned(again)) == (3, {1: (0, 1)})
        assert coordination.group == before

    def test_join_and_leave_move_the_group_epoch_on(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        assert coordination.group.epoch == 3
        coordination.join("b", "orders")
        assert coordination.group.epoch == 4
        coordination.leave("b")
        assert coordination.group.epoch == 5

    def test_subscription_change_moves_the_group_epoch_on(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.heartbeat("a", 3, ("bills",))
        assert coordination.group.epoch == 4

    def test_the_same_topics_in_another_order_or_twice_are_no_change(self, coordination: Coordination) -> None:
        coordination.join("a", "orders", "bills")
        coordination.heartbeat("a", 3, ("orders", "bills", "orders"))
        assert coordination.group.epoch == 3
        assert coordination.group.members["a"].subscribed_topic_names == ("bills", "orders")

    def test_rack_and_client_change_without_a_new_epoch(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.heartbeat("a", 3, rack_id="r1", client=MemberClient("renamed", "/10.0.0.1"))
        coordination.heartbeat("a", 3, client=MemberClient("renamed", "/10.0.0.1"))
        metadata = coordination.group.members["a"]
        assert (metadata.rack_id, metadata.client_id, metadata.client_host) == ("r1", "renamed", "/10.0.0.1")
        assert coordination.group.epoch == 3

    def test_creating_growing_and_deleting_a_subscribed_topic_moves_the_group_epoch_on(
        self, coordination: Coordination
    ) -> None:
        epoch = coordination.join("a", "orders", "later").member_epoch
        coordination.topics.create("later", 1)
        epochs = []
        for num_partitions in (1, 2, 0):
            if num_partitions:
                coordination.topics.grow("later", num_partitions)
            else:
                coordination.topics.delete("later")
            for _ in range(3):
                epoch = coordination.heartbeat("a", epoch).member_epoch
            epochs.append(epoch)
        # Each time once for the metadata and, where there are new partitions, once more for their initialisation.
        assert epochs == [5, 7, 8]

    def test_a_topic_that_nobody_subscribes_to_moves_nothing(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.topics.create("other", 1)
        assert coordination.heartbeat("a", 3).member_epoch == 3


class TestSendingTheAssignment:
    def test_not_without_need(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        assert coordination.heartbeat("a", 3).assignment is None

    def test_with_every_request_that_names_topics(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        assert assigned(coordination.heartbeat("a", 3, ("orders",))) == {1: (0, 1)}

    def test_on_change(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.heartbeat("b", 0, ("orders",))
        assert assigned(coordination.heartbeat("a", 3)) == {1: (0,)}

    def test_not_when_only_the_epoch_changed(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.heartbeat("b", 0, ("bills",))
        response = coordination.heartbeat("a", 3)
        assert (response.member_epoch, response.assignment) == (5, None)  # 4 by the join, 5 by the new partitions

    def test_not_for_the_previous_epoch_alone(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        assert coordination.heartbeat("a", 2).assignment is None

    def test_unsubscribing_from_everything_empties_it(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        response = coordination.heartbeat("a", 3, ())
        assert (response.member_epoch, assigned(response)) == (4, {})


class TestLeaving:
    def test_response(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        response = coordination.leave("a")
        assert (response.member_id, response.member_epoch, response.heartbeat_interval_ms) == ("a", -1, 0)
        assert response.assignment is None

    def test_the_others_take_over(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.join("b", "orders")
        coordination.leave("a")
        assert assigned(coordination.heartbeat("b", 4)) == {1: (0, 1)}

    def test_the_last_one_leaves_an_empty_group_with_a_settled_target(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.leave("a")
        assert coordination.group.state == "Empty"
        assert (coordination.group.epoch, coordination.group.assignment_epoch) == (4, 4)
        assert (coordination.group.target, coordination.group.current) == ({}, {})

    def test_joining_an_empty_group_gives_initialised_partitions_at_once(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.leave("a")
        again = coordination.heartbeat("a", 0, ("orders",))
        assert (again.member_epoch, assigned(again)) == (5, {1: (0, 1)})


class TestAssignmentInterval:
    @pytest.fixture
    def batching(self) -> Coordination:
        made = Coordination(ShareGroupConfig(assignment_interval_ms=1_000))
        made.topics.create("orders", 2)
        made.topics.create("bills", 2)
        made.heartbeat("a", 0, ("orders", "bills"))
        made.advance(1_000)
        made.heartbeat("a", 2)
        return made

    def test_first_assignment_is_computed_at_once_the_next_after_the_interval(self) -> None:
        coordination = Coordination(ShareGroupConfig(assignment_interval_ms=1_000))
        coordination.topics.create("orders", 1)
        coordination.heartbeat("a", 0, ("orders",))
        coordination.advance(999)
        assert coordination.heartbeat("a", 2).member_epoch == 2
        coordination.advance(1)
        assert assigned(coordination.heartbeat("a", 2)) == {1: (0,)}

    def test_a_member_that_joins_in_between_gets_the_old_epoch_and_nothing(self, batching: Coordination) -> None:
        response = batching.heartbeat("b", 0, ("orders", "bills"))
        assert (response.member_epoch, assigned(response)) == (3, {})
        assert (batching.group.epoch, batching.group.assignment_epoch) == (4, 3)

    def test_joins_and_leaves_within_the_interval_cost_one_assignment(self, batching: Coordination) -> None:
        for member_id in ("b", "c", "d"):
            batching.heartbeat(member_id, 0, ("orders", "bills"))
        batching.leave("c")
        batching.advance(1_000)
        assert assigned(batching.heartbeat("b", 3)) == {2: (0,)}
        assert (batching.group.epoch, batching.group.assignment_epoch) == (7, 7)

    def test_unsubscribing_takes_effect_at_once_all_the_same(self, batching: Coordination) -> None:
        response = batching.heartbeat("a", 3, ("bills",))
        assert (response.member_epoch, assigned(response)) == (3, {2: (0, 1)})
        back = batching.heartbeat("a", 3, ("bills", "orders"))
        assert (back.member_epoch, assigned(back)) == (3, {1: (0, 1), 2: (0, 1)})

    def test_a_deleted_topic_goes_at_once_all_the_same(self, batching: Coordination) -> None:
        batching.topics.delete("orders")
        response = batching.heartbeat("a", 3)
        assert (response.member_epoch, assigned(response)) == (3, {2: (0, 1)})

    def test_an_empty_group_does_not_wait(self, batching: Coordination) -> None:
        batching.leave("a")
        response = batching.heartbeat("a", 0, ("orders",))
        assert (response.member_epoch, assigned(response)) == (5, {1: (0, 1)})

    def test_interval_of_zero_turns_it_off(self) -> None:
        coordination = Coordination(ShareGroupConfig(assignment_interval_ms=0))
        coordination.topics.create("orders", 2)
        coordination.join("a", "orders")
        assert assigned(coordination.heartbeat("b", 0, ("orders",))) == {1: (1,)}


class TestSharing:
    def test_more_members_than_partitions_share_them(self, coordination: Coordination) -> None:
        members = [f"m{number}" for number in range(4)]
        for member_id in members:
            coordination.join(member_id, "orders")
        owned = [assigned(coordination.heartbeat(member_id, 0, ("orders",))) for member_id in members]
        assert sorted(str(one) for one in owned) == ["{1: (0,)}", "{1: (0,)}", "{1: (1,)}", "{1: (1,)}"]

    def test_groups_are_independent(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        other = coordination.heartbeat("a", 0, ("orders",), group_id="other")
        assert other.member_epoch == 2
        assert set(coordination.coordinator.groups) == {GROUP, "other"}
