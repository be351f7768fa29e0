"""Records of streams groups in `__consumer_offsets`: those of a real Kafka load into ours, and ours are Kafka's."""

from collections.abc import Sized
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
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.records import GROUP_RECORDS
from kafka_groups.broker.coordinators.groups.streams.effects import CreateInternalTopics
from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.groups import StreamsGroups
from kafka_groups.broker.coordinators.groups.streams.records import StreamsGroupEpoch, StreamsGroupRecord, StreamsTarget
from kafka_groups.broker.coordinators.groups.streams.settings import StreamsRules
from kafka_groups.broker.coordinators.groups.streams.states import StreamsGroupState, StreamsMemberState
from kafka_groups.broker.coordinators.groups.streams.tasks import by_subtopology
from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch
from kafka_groups.protocol.coordinator_records.streams_group import (
    CurrentTaskIds,
    OfStreamsGroup,
    StreamsGroupCurrentMemberAssignment,
    StreamsGroupCurrentMemberAssignmentValue,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from tests.recording.golden_records import GoldenRecords
from tests.recording.golden_streams_groups import (
    GROUP,
    INSTANCE,
    MEMBER_A,
    MEMBER_B,
    SOURCE,
    dynamic_members,
    load,
    static_member,
    the_end,
)
from tests.support.broker.share_groups import Topics
from tests.support.broker.streams_groups import AT_ONCE, task_ids
from tests.support.kafka.real_kafka import CLIENT_ID


@pytest.fixture(scope="module")
def golden() -> GoldenRecords:
    return load()


def records_of(golden: GoldenRecords, step: str) -> list[StreamsGroupRecord]:
    """What Kafka wrote in a step."""
    stored = [each.stored for each in golden.records if each.step == step]
    records = (GROUP_RECORDS.decode(each.key, each.value) for each in stored)
    return [record for record in records if isinstance(record, OfStreamsGroup)]


def without_times(record: StreamsGroupRecord) -> StreamsGroupRecord:
    """A record without what differs from run to run: our hash is not Kafka's, and the clocks differ."""
    match record.value:
        case StreamsGroupEpoch() as epoch:
            return evolve(record, value=evolve(epoch, metadata_hash=bool(epoch.metadata_hash)))
        case TargetEpoch() as target:
            return evolve(record, value=evolve(target, assignment_timestamp_ms=bool(target.assignment_timestamp_ms)))
    return record


def as_bytes(records: list[StreamsGroupRecord]) -> list[tuple[bytes, bytes | None]]:
    """The bytes of records without what differs from run to run."""
    return [GROUP_RECORDS.encode(without_times(record)) for record in records]


class KafkasAssignor:
    """Assigns what Kafka's assignor did in the same step, because ours may break ties in other ways."""

    name = "kafkas"

    def __init__(self, golden: GoldenRecords, steps: Sized) -> None:
        self._golden = golden
        self._steps = steps

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        kafkas = StreamsGroup(GROUP)
        for step in self._golden.steps[: len(self._steps) + 1]:
            for record in records_of(self._golden, step):
                kafkas.replay(record)
        return MemberAssignments({member_id: assigned(kafkas.target_of(member_id)) for member_id in group.members})


def assigned(target: StreamsTarget) -> MemberAssignment:
    """A target as assignors express it."""
    active, standby = (
        {key: set(partitions) for key, partitions in by_subtopology(tasks).items()}
        for tasks in (target.active, target.standby)
    )
    return MemberAssignment(active, standby)


class EmbeddedTour:
    """Takes the tour with our groups. It stands for the tour, for its connection, and for its requests."""

    def __init__(self, golden: GoldenRecords) -> None:
        self.topics = Topics()
        self.topics.create(SOURCE, 2)
        self.steps: dict[str, list[StreamsGroupRecord]] = {}
        self._config = AT_ONCE
        self._found: list[StreamsGroupRecord] = []
        assignors = TaskAssignors((KafkasAssignor(golden, self.steps),))
        rules = StreamsRules(lambda _: self._config, lambda: 1, assignors=assignors)
        self._groups = StreamsGroups(self.topics, rules)
        self.ask: Any = self._ask

    def note(self, step: str, *_: type) -> None:
        self.steps[step], self._found = self._found, []

    def configure(self, streams_num_standby_replicas: str) -> None:
        self._config = evolve(AT_ONCE, num_standby_replicas=int(streams_num_standby_replicas))

    def delete_group(self) -> None:
        self._store(self._groups.delete(GROUP))

    def _ask(self, request: StreamsGroupHeartbeatRequest, version: int) -> Any:
        result = self._groups.heartbeat(request, MemberClient(CLIENT_ID, "/127.0.0.1"), version, 0)
        self._store(result.records)
        for effect in result.effects:
            assert isinstance(effect, CreateInternalTopics)
            for info in effect.topics:
                self.topics.create(info.name, info.partitions)
        return result.response

    def _store(self, records: tuple[StreamsGroupRecord, ...]) -> None:
        for record in records:
            self._groups.replay(record)
            self._found.append(record)


class TourRequests:
    """The requests of the tour that are not heartbeats."""

    def __init__(self, embedded: EmbeddedTour) -> None:
        self.ask = embedded
        self.note = embedded.note


def test_kafkas_records_become_the_same_bytes_again(golden: GoldenRecords) -> None:
    kinds = set()
    for each in golden.records:
        record = GROUP_RECORDS.decode(each.stored.key, each.stored.value)
        kinds.add(type(record))
        assert GROUP_RECORDS.encode(record) == (each.stored.key, each.stored.value)
    assert len(kinds) == 6


def test_our_groups_write_what_kafka_writes_for_the_same_heartbeats(golden: GoldenRecords) -> None:
    embedded = EmbeddedTour(golden)
    tour: Any = TourRequests(embedded)
    connection: Any = embedded
    for steps in (dynamic_members, static_member, the_end):
        steps(tour, connection)

    assert tuple(embedded.steps) == golden.steps
    for step, written in embedded.steps.items():
        assert as_bytes(written) == as_bytes(records_of(golden, step)), step


def test_kafkas_records_load_into_our_groups(golden: GoldenRecords) -> None:
    groups = StreamsGroups(Topics(), StreamsRules(lambda _: AT_ONCE, lambda: 0))
    for step in golden.steps:
        for record in records_of(golden, step):
            groups.replay(record)
        if step == "second member gets them":
            group = groups.group(GROUP)
            assert (group.state, group.epoch, group.assignment_epoch) == (StreamsGroupState.STABLE, 4, 4)
            assert group.current_of(MEMBER_B).active == {("0", 1): 4, ("1", 1): 4}
            assert group.active_owners.keys() == task_ids("0", 0, 1) | task_ids("1", 0, 1)
        if step == "static member is away":
            assert group.instances.keys() == {INSTANCE}
            assert group.state is StreamsGroupState.RECONCILING
        if step == "static member returns":
            assert group.instances == {INSTANCE: MEMBER_A}
    assert groups.groups == {}


def test_states_and_epochs_of_other_releases() -> None:
    value = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=3,
        previous_member_epoch=2,
        state=9,
        active_tasks=(
            CurrentTaskIds(subtopology_id="0", partitions=(1, 2)),
            CurrentTaskIds(subtopology_id="1", partitions=(1, 2), assignment_epochs=(7,)),
        ),
    )
    record = GROUP_RECORDS.decode(*CONSUMER_OFFSETS.encode(StreamsGroupCurrentMemberAssignment("g", "m", value)))

    assert isinstance(record, StreamsGroupCurrentMemberAssignment)
    assert record.value is not None
    assert record.value.state is StreamsMemberState.UNKNOWN
    assert set(record.value.active.values()) == {0}
