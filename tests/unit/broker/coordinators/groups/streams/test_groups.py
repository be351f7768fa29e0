"""Streams groups in virtual time: joining, epochs, sessions, delays, statuses, and new coordinators."""

from typing import Any

import pytest
from attrs import evolve

from kafka_groups.assignment import (
    MemberAssignment,
    MemberAssignments,
    StreamsGroupSpec,
    TaskAssignors,
    TopologyDescriber,
)
from kafka_groups.broker.coordinators.groups.streams.states import StreamsGroupState
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.errors import (
    BrokerError,
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    InvalidRequestError,
    NonEmptyGroupError,
    StaleMemberEpochError,
    StreamsInvalidTopologyError,
    UnknownMemberIdError,
    UnknownServerError,
    UnreleasedInstanceIdError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatTopicPartition,
    StreamsStatus,
)
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, TaskOffset, UserEndpoint
from kafka_groups.types import TopicPartition
from tests.support.broker.streams_groups import AT_ONCE, GROUP, REBALANCE_MS, SIMPLE, Streams, active, standby, task_ids
from tests.support.members.streams_topologies import WORD_COUNT, internal, sent, subtopology

SESSION_MS, DELAY_MS, INTERVAL_MS = 45_000, 3_000, 1_000
EMPTY, NOT_READY = StreamsGroupState.EMPTY, StreamsGroupState.NOT_READY
ASSIGNING, RECONCILING = StreamsGroupState.ASSIGNING, StreamsGroupState.RECONCILING
STABLE, DEAD = StreamsGroupState.STABLE, StreamsGroupState.DEAD
ENDPOINT = UserEndpoint(host="h", port=1)


def codes(response: StreamsGroupHeartbeatResponse) -> list[int]:
    assert response.status is not None
    return [each.status_code for each in response.status]


def with_topic(partitions: int = 4, config: StreamsGroupConfig = AT_ONCE, **rules: Any) -> Streams:
    """Groups, and the topic that `SIMPLE` reads."""
    streams = Streams(config, **rules)
    streams.topics.create("in", partitions)
    return streams


def epochs(streams: Streams) -> tuple[int, int]:
    return streams.group.epoch, streams.group.assignment_epoch


# --------------------------------------------------------------------------------- joining and sharing out


def test_two_members_share_the_tasks() -> None:
    streams = with_topic()
    first = streams.join("a")
    assert (first.member_epoch, active(first), codes(first)) == (2, task_ids("0", 0, 1, 2, 3), [])
    assert (first.heartbeat_interval_ms, first.task_offset_interval_ms, first.acceptable_recovery_lag) == (
        5_000,
        60_000,
        10_000,
    )
    assert streams.group.state is STABLE

    second = streams.join("b")
    assert (second.member_epoch, active(second), streams.group.state) == (3, set(), RECONCILING)
    kept = active(streams.beat("a", 2))
    assert kept is not None
    assert len(kept) == 2
    assert streams.beat("a", 2, kept).member_epoch == 3
    assert active(streams.beat("b", 3)) == task_ids("0", 0, 1, 2, 3) - kept
    assert streams.group.state is STABLE


def test_tasks_are_echoed_only_when_they_have_changed() -> None:
    streams = with_topic()
    streams.join("a")

    assert active(streams.beat("a", 2)) is None
    assert active(streams.join("a")) == task_ids("0", 0, 1, 2, 3)
    assert streams.group.epoch == 2, "joining again without a change is no change"


def test_standby_tasks_are_given_to_other_processes() -> None:
    topology = sent(subtopology("0", sources=("in",), changelogs=(internal("store"),)))
    streams = with_topic(2, evolve(AT_ONCE, num_standby_replicas=1))
    streams.topics.create("store", 2)
    streams.join("a", topology)
    streams.join("b", topology)
    must = streams.beat("a", 2)
    kept = active(must)
    assert kept is not None
    streams.beat("a", 2, kept, standby(must) or ())
    streams.beat("b", 3)
    for _ in range(2):
        streams.beat("a", 3)
        streams.beat("b", 3)

    assert streams.group.state is STABLE
    for member_id, other in (("a", "b"), ("b", "a")):
        assert streams.group.current_of(member_id).standby == streams.group.current_of(other).active.keys()


def test_the_previous_epoch_is_accepted_if_the_member_owns_no_more_than_it_may() -> None:
    streams = with_topic()
    streams.join("a")
    streams.join("b")
    kept = active(streams.beat("a", 2))
    assert kept is not None
    streams.beat("a", 2, kept)

    assert streams.beat("a", 2, kept).member_epoch == 3
    for owned in (None, task_ids("0", 0, 1, 2, 3)):
        with pytest.raises(FencedMemberEpochError, match=r"smaller member epoch \(2\)"):
            streams.beat("a", 2, owned)
    with pytest.raises(FencedMemberEpochError, match=r"greater member epoch \(4\)"):
        streams.beat("a", 4)


def test_who_is_not_a_member_is_unknown() -> None:
    streams = with_topic()
    with pytest.raises(GroupIdNotFoundError):
        streams.beat("a", 1)
    with pytest.raises(GroupIdNotFoundError):
        streams.beat("a", -1)
    streams.join("a")
    for epoch in (1, -1):
        with pytest.raises(UnknownMemberIdError, match="Member b"):
            streams.beat("b", epoch)


def test_a_full_group_takes_nobody_but_its_members() -> None:
    streams = with_topic(max_size=1)
    streams.join("a", instance_id="i")
    with pytest.raises(GroupMaxSizeReachedError, match="capacity of 1"):
        streams.join("b")
    streams.beat("a", -2, instance_id="i")
    assert streams.join("b", instance_id="i", process_id="a").member_epoch == 2, "it is the same instance"


def test_a_task_that_does_not_exist_cannot_be_owned() -> None:
    streams = with_topic()
    streams.join("a")
    for owned, told in ((task_ids("0", 4), "Task 4 is not one"), (task_ids("7", 0), "no sub-topology 7")):
        with pytest.raises(InvalidRequestError, match=told):
            streams.beat("a", 2, owned)


# --------------------------------------------------------------------------------------------- epochs


def test_what_increases_the_group_epoch_of_a_dynamic_member() -> None:
    streams = with_topic()
    streams.join("a")
    changes: list[dict[str, Any]] = [
        {"rack_id": "r"},
        {"client_tags": (KeyValue(key="zone", value="z"),)},
        {"process_id": "p"},
        {"user_endpoint": ENDPOINT},
        {"rebalance_timeout_ms": 7},
    ]
    for number, change in enumerate(changes, start=3):
        epoch = streams.group.current_of("a").member_epoch
        assert streams.beat("a", epoch, **change).member_epoch == number
        assert streams.beat("a", number, **change).member_epoch == number


def test_a_growing_topic_is_not_noticed_by_a_member_that_leaves() -> None:
    streams = with_topic()
    streams.join("a")
    streams.join("b")
    epoch = streams.group.epoch
    streams.topics.grow("in", 5)
    streams.beat("b", -1)
    assert streams.group.epoch == epoch + 1
    streams.beat("a", streams.group.current_of("a").member_epoch, ())
    assert streams.group.epoch == epoch + 2
    streams.beat("a", streams.group.current_of("a").member_epoch)
    assert streams.group.epoch == epoch + 2


def test_a_growing_topic_gives_more_tasks() -> None:
    streams = with_topic(1)
    streams.join("a")
    streams.topics.create("other", 1)
    assert streams.beat("a", 2).member_epoch == 2
    streams.topics.grow("in", 2)

    assert active(streams.beat("a", 2)) == task_ids("0", 0, 1)
    assert streams.group.epoch == 3


def test_other_configs_of_assignors_are_a_change_and_others_are_none() -> None:
    streams = with_topic()
    streams.join("a")
    streams.config = evolve(AT_ONCE, num_standby_replicas=1)
    assert streams.beat("a", 2).member_epoch == 3
    streams.config = evolve(streams.config, session_timeout_ms=50_000)
    assert streams.beat("a", 3).member_epoch == 3


def test_a_member_that_is_there_without_an_epoch_makes_the_group_assign_again() -> None:
    streams = with_topic()
    streams.join("a")
    count = len(streams.records)
    streams.join("b")
    del streams.records[count + 1 :]
    streams.move()
    assert "b" in streams.group.members

    assert streams.join("b").member_epoch == streams.group.epoch
    assert streams.group.target_of("b").active


# ------------------------------------------------------------------------------------- topologies and topics


def test_a_group_is_not_ready_until_the_internal_topics_exist() -> None:
    streams = Streams()
    response = streams.join("a", WORD_COUNT)
    assert (codes(response), streams.group.state) == ([StreamsStatus.MISSING_SOURCE_TOPICS], NOT_READY)
    assert streams.to_create == []

    streams.topics.create("lines", 2)
    response = streams.beat("a", 2)
    assert (codes(response), streams.group.state) == ([StreamsStatus.MISSING_INTERNAL_TOPICS], NOT_READY)
    assert streams.to_create == ["app-counts-changelog", "app-words-repartition"]
    assert streams.beat("a", 3).member_epoch == 3

    for name in streams.to_create:
        streams.topics.create(name, 2)
    response = streams.beat("a", 3)
    assert (codes(response), active(response)) == ([], task_ids("0", 0, 1) | task_ids("1", 0, 1))
    assert (streams.group.state, streams.group.epoch) == (STABLE, 4)


def test_a_topic_that_is_missing_empties_every_assignment() -> None:
    streams = with_topic()
    streams.join("a")
    streams.topics.delete("in")

    response = streams.beat("a", 2)
    assert (active(response), codes(response)) == (set(), [StreamsStatus.MISSING_SOURCE_TOPICS])
    assert streams.beat("a", 2, ()).member_epoch == 3
    assert streams.group.state is NOT_READY
    streams.topics.create("in", 4)
    assert active(streams.beat("a", 3)) == task_ids("0", 0, 1, 2, 3)


def test_topologies_cannot_be_changed_and_older_ones_are_stale() -> None:
    streams = with_topic()
    newer = evolve(SIMPLE, epoch=3)
    streams.join("a", newer)
    assert codes(streams.join("b", evolve(SIMPLE, epoch=2))) == [StreamsStatus.STALE_TOPOLOGY]
    assert codes(streams.beat("b", 3)) == [StreamsStatus.STALE_TOPOLOGY]
    for other in (evolve(SIMPLE, epoch=4), sent(subtopology("0", sources=("in", "other")), epoch=3)):
        with pytest.raises(InvalidRequestError, match="Topology updates are not supported"):
            streams.join("c", other)
    assert set(streams.group.members) == {"a", "b"}


def test_numbers_of_partitions_that_cannot_be_derived_are_refused() -> None:
    streams = with_topic()
    with pytest.raises(StreamsInvalidTopologyError, match="no sub-topology writes it"):
        streams.join("a", sent(subtopology("0", sources=("in",), repartitions=(internal("r"),))))
    assert streams.records == []


# ---------------------------------------------------------------------------------------------- delays


def test_the_first_members_wait_for_more() -> None:
    streams = with_topic(config=StreamsGroupConfig())
    first = streams.join("a")
    assert (first.member_epoch, active(first), codes(first)) == (1, set(), [StreamsStatus.ASSIGNMENT_DELAYED])
    assert (epochs(streams), streams.group.state) == ((2, 1), ASSIGNING)
    streams.after(DELAY_MS - 1)
    assert codes(streams.join("b")) == [StreamsStatus.ASSIGNMENT_DELAYED]
    streams.after(1)
    assert (epochs(streams), streams.group.state) == ((3, 3), RECONCILING)

    given = [active(streams.beat(member_id, 1)) for member_id in ("a", "b")]
    assert [len(each or ()) for each in given] == [2, 2]


def test_a_delay_with_a_single_heartbeat_ends_with_the_next_one() -> None:
    streams = with_topic(config=StreamsGroupConfig())
    streams.join("a")
    streams.after(DELAY_MS)
    assert epochs(streams) == (2, 1)

    response = streams.beat("a", 1)
    assert (response.member_epoch, codes(response)) == (2, [])


def test_a_group_that_is_empty_when_the_delay_ends_is_left_alone() -> None:
    streams = with_topic(config=StreamsGroupConfig())
    streams.join("a")
    streams.beat("a", 1)
    streams.beat("a", -1)
    streams.after(DELAY_MS)

    assert (epochs(streams), streams.group.state) == ((3, 3), EMPTY)
    assert streams.groups.next_deadline_ms() is None


def test_the_interval_between_assignments() -> None:
    streams = with_topic(config=evolve(AT_ONCE, assignment_interval_ms=INTERVAL_MS))
    streams.join("a")
    delayed = streams.join("b")
    assert (delayed.member_epoch, codes(delayed)) == (2, [StreamsStatus.ASSIGNMENT_DELAYED])
    assert streams.group.state is ASSIGNING
    streams.move()
    streams.after(INTERVAL_MS)

    response = streams.beat("b", 2)
    assert (response.member_epoch, codes(response)) == (3, [])


# -------------------------------------------------------------------------------------- leaving and sessions


def test_a_session_ends_if_no_heartbeat_moves_it() -> None:
    streams = with_topic()
    streams.join("a")
    streams.after(SESSION_MS - 1)
    streams.beat("a", 2)
    streams.after(SESSION_MS - 1)
    assert streams.group.state is STABLE
    streams.after(1)
    assert (streams.group.state, epochs(streams)) == (EMPTY, (3, 3))
    assert streams.groups.next_deadline_ms() is None


def test_who_does_not_revoke_in_time_is_removed() -> None:
    streams = with_topic()
    streams.join("a")
    streams.join("b")
    streams.beat("a", 2)
    streams.after(REBALANCE_MS - 1)
    streams.move()
    streams.after(REBALANCE_MS - 1)
    assert set(streams.group.members) == {"a", "b"}
    streams.after(1)

    assert set(streams.group.members) == {"b"}
    assert active(streams.beat("b", 3)) == task_ids("0", 0, 1, 2, 3)


def test_who_has_revoked_has_no_deadline_for_it() -> None:
    streams = with_topic()
    streams.join("a")
    streams.join("b")
    kept = active(streams.beat("a", 2))
    streams.beat("a", 2, kept)
    streams.after(REBALANCE_MS)

    assert set(streams.group.members) == {"a", "b"}


def test_a_group_survives_a_move_with_its_epochs() -> None:
    streams = with_topic()
    streams.join("a", user_endpoint=ENDPOINT, rack_id="r")
    streams.beat("a", 2, shutdown_application=True)
    before = streams.group
    streams.move()

    assert streams.group == before
    assert streams.group.active_owners == before.active_owners
    response = streams.beat("a", 2)
    assert (response.member_epoch, codes(response)) == (2, []), "the request to shut down is lost, as in Kafka"


def test_all_must_shut_down_until_the_group_is_empty() -> None:
    streams = with_topic()
    streams.join("a")
    streams.join("b")
    streams.beat("b", 3, shutdown_application=True)
    assert codes(streams.beat("a", 2)) == [StreamsStatus.SHUTDOWN_APPLICATION]
    assert streams.beat("b", -1).status == ()
    response = streams.beat("a", 2)
    assert codes(response) == [StreamsStatus.SHUTDOWN_APPLICATION]
    assert response.status is not None
    assert "Member b" in response.status[0].status_detail
    streams.beat("a", -1)
    assert codes(streams.join("a")) == []


def test_nobody_must_shut_down_after_the_only_member_was_replaced() -> None:
    streams = with_topic()
    streams.join("a", instance_id="i")
    streams.beat("a", 2, instance_id="i", shutdown_application=True)
    streams.beat("a", -2, instance_id="i")
    returned = streams.join("b", instance_id="i")
    assert codes(returned) == [StreamsStatus.SHUTDOWN_APPLICATION]
    assert codes(streams.beat("b", returned.member_epoch, instance_id="i")) == []


def test_an_empty_group_can_be_deleted() -> None:
    streams = with_topic()
    streams.join("a")
    with pytest.raises(NonEmptyGroupError):
        streams.groups.delete(GROUP)
    streams.beat("a", -1)
    group = streams.group
    for record in streams.groups.delete(GROUP):
        streams.groups.replay(record)

    assert group.state is DEAD
    with pytest.raises(GroupIdNotFoundError):
        streams.groups.describe(GROUP)


# --------------------------------------------------------------------------------------- static members


def test_a_static_member_keeps_its_tasks_while_it_is_away() -> None:
    streams = with_topic()
    streams.join("a", instance_id="i")
    assert streams.beat("a", -2, instance_id="i").member_epoch == -2
    assert streams.group.state is RECONCILING
    again = streams.join("b", instance_id="i", process_id="a")

    assert (again.member_epoch, active(again)) == (2, task_ids("0", 0, 1, 2, 3))
    assert (set(streams.group.members), epochs(streams), streams.group.state) == ({"b"}, (2, 2), STABLE)


@pytest.mark.parametrize(
    ("change", "epoch"),
    [
        ({"rebalance_timeout_ms": 7}, 2),
        ({"user_endpoint": ENDPOINT}, 2),
        ({"rack_id": "r"}, 3),
        ({"process_id": "p"}, 3),
        ({"client_tags": (KeyValue(key="zone", value="z"),)}, 3),
    ],
)
def test_what_increases_the_group_epoch_when_a_static_member_returns(change: dict[str, Any], epoch: int) -> None:
    streams = with_topic()
    streams.join("a", instance_id="i")
    streams.beat("a", -2, instance_id="i")

    assert streams.join("b", **{"instance_id": "i", "process_id": "a", **change}).member_epoch == epoch


def test_an_instance_has_one_member() -> None:
    streams = with_topic()
    streams.join("a", instance_id="i")
    for member_id in ("a", "b"):
        with pytest.raises(UnreleasedInstanceIdError, match="the instance id is owned by a member"):
            streams.join(member_id, instance_id="i")
    for epoch in (2, -1, -2):
        with pytest.raises(FencedInstanceIdError):
            streams.beat("b", epoch, instance_id="i")
        with pytest.raises(UnknownMemberIdError, match="Instance id j"):
            streams.beat("a", epoch, instance_id="j")
    streams.after(SESSION_MS)
    assert streams.join("b", instance_id="i").member_epoch == 4


# --------------------------------------------------------------------- endpoints, tags, offsets of tasks


def test_members_are_told_who_answers_queries() -> None:
    streams = with_topic(2)
    assert streams.join("a").partitions_by_user_endpoint is None
    told = streams.beat("a", 2, user_endpoint=ENDPOINT)
    assert told.endpoint_information_epoch == 1
    assert told.partitions_by_user_endpoint is not None
    (entry,) = told.partitions_by_user_endpoint
    assert entry.user_endpoint == ENDPOINT
    assert entry.active_partitions == (StreamsGroupHeartbeatTopicPartition(topic="in", partitions=(0, 1)),)
    assert entry.standby_partitions == ()

    epoch = streams.group.current_of("a").member_epoch
    assert streams.beat("a", epoch, endpoint_information_epoch=1).partitions_by_user_endpoint is None
    assert streams.beat("a", epoch).partitions_by_user_endpoint == told.partitions_by_user_endpoint
    assert streams.join("a").partitions_by_user_endpoint == (), "who joins without an endpoint has none"


def test_nobody_can_be_asked_where_topics_are_missing() -> None:
    streams = with_topic(2)
    with pytest.raises(UnknownServerError, match="Source topics are missing"):
        streams.join("a", sent(subtopology("0", sources=("in", "out"))), user_endpoint=ENDPOINT)
    streams.join("a", user_endpoint=ENDPOINT)
    streams.topics.delete("in")
    with pytest.raises(UnknownServerError, match="Source topics are missing"):
        streams.beat("a", 2)


def test_members_that_lack_tags_are_told_so_in_version_1() -> None:
    config = evolve(AT_ONCE, rack_aware_assignment_tags=("zone", "cluster"))
    streams = with_topic(config=config)
    assert codes(streams.join("a", client_tags=(KeyValue(key="zone", value="z"),))) == [
        StreamsStatus.MISSING_CLIENT_TAGS
    ]
    assert codes(streams.beat("a", 2, version=0)) == []
    tags = tuple(KeyValue(key=key, value="x") for key in ("zone", "cluster"))
    assert codes(streams.beat("a", 2, client_tags=tags)) == []


def test_offsets_of_tasks_are_kept_until_the_member_leaves() -> None:
    streams = with_topic()
    offset = TaskOffset(subtopology_id="0", partition=1, offset=7)
    streams.join("a")
    streams.beat("a", 2, task_offsets=(offset,), task_end_offsets=(evolve(offset, offset=9),))
    streams.beat("a", 2, task_end_offsets=())
    (member,) = streams.groups.describe(GROUP).members
    assert (member.task_offsets, member.task_end_offsets) == ((offset,), ())
    with pytest.raises(InvalidRequestError, match="task 0_1 is given twice"):
        streams.beat("a", 2, task_offsets=(offset, offset))
    streams.beat("a", -1)
    streams.join("a")
    (member,) = streams.groups.describe(GROUP).members
    assert member.task_offsets == ()


def test_offsets_of_tasks_decide_where_tasks_go_when_nobody_had_them() -> None:
    topology = sent(subtopology("0", sources=("in",), changelogs=(internal("store"),)))
    streams = with_topic(2, StreamsGroupConfig(assignment_interval_ms=0))
    streams.topics.create("store", 2)
    streams.join("a", topology)
    streams.join("b", topology)
    far = [TaskOffset(subtopology_id="0", partition=partition, offset=100) for partition in (0, 1)]
    streams.beat("a", 1, task_offsets=(far[1],))
    streams.beat("b", 1, task_offsets=(far[0],))
    streams.after(DELAY_MS)

    assert active(streams.beat("a", 1)) == task_ids("0", 1)
    assert active(streams.beat("b", 1)) == task_ids("0", 0)


# -------------------------------------------------------------------------------------------- assignors


class Failing:
    """An assignor that fails, or assigns a task that does not exist."""

    name = "failing"

    def __init__(self) -> None:
        self.assignment: MemberAssignments | None = None

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        if self.assignment is None:
            raise ValueError("no idea")
        return self.assignment


def test_an_assignor_that_fails_changes_nothing() -> None:
    failing = Failing()
    streams = with_topic(assignors=TaskAssignors((failing,)))
    with pytest.raises(UnknownServerError, match="for epoch 2: no idea"):
        streams.join("a")
    failing.assignment = MemberAssignments({"a": MemberAssignment({"0": {9}})})
    with pytest.raises(UnknownServerError, match="0_9"):
        streams.join("a")
    assert streams.records == []
    failing.assignment = MemberAssignments({"a": MemberAssignment({"0": {3}})})
    assert active(streams.join("a")) == task_ids("0", 3)
    assert streams.groups.describe(GROUP).assignor_name == "failing"


def test_why_an_assignor_failed_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    streams = with_topic(assignors=TaskAssignors((Failing(),)))
    with pytest.raises(UnknownServerError):
        streams.join("a")
    [record] = caplog.records
    assert record.getMessage() == "The task assignor failing failed for epoch 2."
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)


def test_an_assignor_that_fails_when_the_delay_ends_is_asked_again() -> None:
    failing = Failing()
    streams = with_topic(config=StreamsGroupConfig(), assignors=TaskAssignors((failing,)))
    streams.join("a")
    streams.beat("a", 1)
    streams.after(DELAY_MS)
    assert epochs(streams) == (2, 1)
    failing.assignment = MemberAssignments({"a": MemberAssignment({"0": {3}})})

    assert active(streams.beat("a", 1)) == task_ids("0", 3)


# ---------------------------------------------------------------------------------- offsets, descriptions


def test_offsets_are_committed_with_the_epoch_of_the_member_or_since_it_has_the_task() -> None:
    streams = with_topic(2)
    partition = TopicPartition("in", 0)
    streams.join("a")
    streams.join("b")
    kept = active(streams.beat("a", 2))
    assert kept is not None
    streams.beat("a", 2, kept)
    kept_partition, given_partition = (TopicPartition("in", n) for n in (min(kept)[1], 1 - min(kept)[1]))
    streams.beat("b", 3)
    check = streams.groups.check_commit

    check(GROUP, "a", 3, 9, [partition])
    check(GROUP, "a", 2, 9, [kept_partition])
    refused: list[tuple[str, int, int, TopicPartition, type[BrokerError]]] = [
        ("a", 4, 9, kept_partition, StaleMemberEpochError),
        ("a", 1, 9, kept_partition, StaleMemberEpochError),
        ("a", 2, 9, given_partition, StaleMemberEpochError),
        ("a", 2, 9, TopicPartition("else", 0), StaleMemberEpochError),
        ("b", 2, 9, given_partition, StaleMemberEpochError),
        ("a", 3, 8, kept_partition, UnsupportedVersionError),
        ("", -1, 9, kept_partition, UnknownMemberIdError),
    ]
    for member_id, epoch, version, to_commit, error in refused:
        with pytest.raises(error):
            check(GROUP, member_id, epoch, version, [to_commit])


def test_offsets_are_fetched_with_the_epoch_of_the_member_or_by_nobody() -> None:
    streams = with_topic()
    streams.join("a")
    streams.groups.check_fetch(GROUP, "a", 2)
    streams.groups.check_fetch(GROUP, None, -1)
    with pytest.raises(StaleMemberEpochError):
        streams.groups.check_fetch(GROUP, "a", 1)
    with pytest.raises(UnknownMemberIdError):
        streams.groups.check_fetch(GROUP, "b", 2)
    assert streams.groups.is_subscribed(GROUP, "in")
    streams.beat("a", -1)
    assert not streams.groups.is_subscribed(GROUP, "in")
    streams.groups.check_commit(GROUP, "", -1, 2, [TopicPartition("in", 0)])


def test_a_description_has_the_numbers_of_partitions_once_the_topology_works() -> None:
    streams = Streams()
    streams.join("a", WORD_COUNT, rack_id="r")
    described = streams.groups.describe(GROUP)
    assert described.topology is not None
    assert described.topology.subtopologies is not None
    assert described.topology.subtopologies[1].state_changelog_topics[0].partitions == 0
    streams.topics.create("lines", 2)
    streams.topics.create("app-counts-changelog", 2)
    streams.topics.create("app-words-repartition", 2)
    streams.beat("a", 2, user_endpoint=ENDPOINT)

    described = streams.groups.describe(GROUP)
    (member,) = described.members
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Stable", 3, 3)
    assert described.topology is not None
    assert described.topology.subtopologies is not None
    assert described.topology.subtopologies[1].state_changelog_topics[0].partitions == 2
    assert (member.member_epoch, member.process_id, member.rack_id, member.user_endpoint) == (3, "a", "r", ENDPOINT)
    assert member.assignment == member.target_assignment
    assert [each.partitions for each in member.assignment.active_tasks] == [(0, 1), (0, 1)]
