"""What the coordinator shows of its groups, and that hard state comes from records alone."""

import pytest

from kafka_groups.broker.coordinators.groups.share.group import Draft, GroupState, ShareGroup
from kafka_groups.broker.coordinators.groups.share.groups import ShareGroups
from kafka_groups.broker.profile import PROFILES
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import GroupIdNotFoundError
from kafka_groups.protocol.coordinator_records.share_group import (
    ShareGroupMemberMetadata,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadata,
    ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMetadata,
)
from kafka_groups.protocol.messages.share_group_describe import DescribedAssignment, DescribedTopicPartitions, Member
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.support.broker.share_groups import CLIENT, GROUP, Coordination, Topics


@pytest.fixture
def coordination() -> Coordination:
    made = Coordination()
    made.topics.create("orders", 2)
    return made


class TestDescribe:
    def test_unknown_group(self, coordination: Coordination) -> None:
        with pytest.raises(GroupIdNotFoundError, match="Group nobody not found"):
            coordination.coordinator.describe("nobody")

    def test_members_epochs_and_state(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.heartbeat("b", 0, ("orders", "missing"), rack_id="r1")
        described = coordination.coordinator.describe(GROUP)
        assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Stable", 4, 4)
        assert described.assignor_name == "simple"
        first, second = described.members
        assert (first.member_id, first.member_epoch) == ("a", 3)
        assert second == Member(
            member_id="b",
            rack_id="r1",
            member_epoch=4,
            client_id="test-client",
            client_host="/127.0.0.1",
            subscribed_topic_names=("missing", "orders"),
            assignment=DescribedAssignment(
                topic_partitions=(
                    DescribedTopicPartitions(
                        topic_id=coordination.topics.topic("orders").topic_id,  # type: ignore[union-attr]
                        topic_name="orders",
                        partitions=(1,),
                    ),
                )
            ),
        )

    def test_partitions_of_a_deleted_topic_are_left_out(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.topics.delete("orders")
        (member,) = coordination.coordinator.describe(GROUP).members
        assert member.assignment.topic_partitions == ()

    def test_empty_group(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        coordination.leave("a")
        described = coordination.coordinator.describe(GROUP)
        assert (described.group_state, described.members) == ("Empty", ())


class TestGroupState:
    def test_a_group_that_was_never_written_is_dead(self) -> None:
        assert ShareGroup("g").state is GroupState.DEAD

    def test_states_follow_the_records(self) -> None:
        group = ShareGroup("g")
        states = []
        for record in (
            ShareGroupMetadata("g", ShareGroupMetadataValue(epoch=2, metadata_hash=0)),
            ShareGroupMemberMetadata("g", "a", ShareGroupMemberMetadataValue(client_id="c", client_host="/h")),
            ShareGroupMemberMetadata("g", "a", None),
            ShareGroupMetadata("g", None),
        ):
            group.replay(record)
            states.append(group.state)
        assert states == [GroupState.EMPTY, GroupState.STABLE, GroupState.EMPTY, GroupState.DEAD]

    def test_a_draft_of_it_is_independent(self) -> None:
        group = ShareGroup("g")
        draft = Draft(group).group
        draft.replay(ShareGroupMemberMetadata("g", "a", ShareGroupMemberMetadataValue(client_id="c", client_host="/h")))
        assert group == ShareGroup("g") != draft

    def test_tombstones_of_what_is_not_there_do_nothing(self) -> None:
        group = ShareGroup("g")
        group.replay(ShareGroupMemberMetadata("g", "a", None))
        group.replay(ShareGroupTargetAssignmentMetadata("g", None))
        assert group == ShareGroup("g")


class TestShard:
    def test_an_operation_changes_no_hard_state(self) -> None:
        topics = Topics()
        topics.create("orders", 1)
        shard = ShareGroups(topics, lambda _: ShareGroupConfig(), max_size=10)
        request = ShareGroupHeartbeatRequest(
            group_id=GROUP, member_id="a", member_epoch=0, subscribed_topic_names=("orders",)
        )
        result = shard.heartbeat(request, CLIENT, 0)
        assert not shard.groups
        for record in result.records:
            shard.replay(record)
        assert set(shard.groups[GROUP].members) == {"a"}

    @pytest.mark.parametrize(
        ("profile", "joined", "left", "joined_again"),
        [("4.2", (1, 1), (2, 1), (3, 3)), ("4.3", (2, 2), (3, 2), (4, 4)), ("4.4", (2, 2), (3, 3), (4, 4))],
    )
    def test_group_epoch_and_assignment_epoch_of_each_release(
        self, profile: str, joined: tuple[int, int], left: tuple[int, int], joined_again: tuple[int, int]
    ) -> None:
        coordination = Coordination(profile=PROFILES[profile])

        def epochs() -> tuple[int, int]:
            return coordination.group.epoch, coordination.group.assignment_epoch

        assert coordination.heartbeat("a", 0, ("missing",)).member_epoch == joined[0]
        assert epochs() == joined
        coordination.leave("a")
        assert epochs() == left
        coordination.fail_over()
        assert epochs() == left
        coordination.heartbeat("a", 0, ("missing",))
        assert epochs() == joined_again

    def test_heartbeat_without_news_writes_nothing(self, coordination: Coordination) -> None:
        coordination.join("a", "orders")
        before = list(coordination.journal)
        coordination.heartbeat("a", 3)
        coordination.heartbeat("a", 3, ("orders",))
        assert list(coordination.journal) == before
