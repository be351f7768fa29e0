"""Golden records of a streams group: what a real Kafka wrote for it, and after which step of a tour.

`python -m tests.recording.golden_streams_groups`, from the root of the project, captures them anew. Needs Java and
Maven; takes about half a minute.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafka_groups.broker.coordinators.groups.streams.tasks import listed_tasks
from kafka_groups.protocol.coordinator_records.streams_group import (
    StreamsGroupCurrentMemberAssignment,
    StreamsGroupMetadata,
    StreamsGroupTargetAssignmentMetadata,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    StreamsGroupHeartbeatRequest,
)
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, TaskOffset, UserEndpoint
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TaskId
from tests.recording.golden_records import GoldenRecord, GoldenRecords, Tour, load_records, save_records
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import RawConnection
from tests.support.members.streams_topologies import internal, sent, subtopology, together
from tests.support.requests.share_requests import ShareRequests

FILE = Path(__file__).parent.parent / "golden" / "streams_group_records.json"
GROUP = "golden-streams"
SOURCE, REPARTITION, CHANGELOG = "golden-in", "golden-streams-words-repartition", "golden-streams-counts-changelog"
MEMBER_A, MEMBER_B, MEMBER_C = "A" * 22, "B" * 22, "C" * 22
INSTANCE = "instance"
REBALANCE_MS = 30_000
PROPERTIES = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.min.assignment.interval.ms": "0",
}
TOPOLOGY = sent(
    subtopology("0", sources=(SOURCE,), sinks=(REPARTITION,)),
    subtopology(
        "1",
        repartitions=(internal(REPARTITION, configs={"cleanup.policy": "delete", "retention.ms": "-1"}),),
        changelogs=(internal(CHANGELOG, configs={"cleanup.policy": "compact"}),),
        together=(together(repartitions=(0,)),),
    ),
    epoch=1,
)
TAGS = (KeyValue(key="zone", value="z1"),)
ENDPOINT = UserEndpoint(host="example.org", port=65_535)

_VERSION = 1
_EPOCH_WITHOUT_TOPICS = 2


def load() -> GoldenRecords:
    """The captured records."""
    return load_records(FILE)


class StreamsTourist:
    """A member whose heartbeats say what the caller wants."""

    def __init__(self, connection: RawConnection, member_id: str, instance: str | None = None) -> None:
        self._connection = connection
        self._identity: dict[str, Any] = {"group_id": GROUP, "member_id": member_id, "instance_id": instance}
        self.epoch = JOIN_GROUP_EPOCH

    def join(self, **fields: Any) -> None:
        """The first heartbeat, until it is answered."""
        values = {"rebalance_timeout_ms": REBALANCE_MS, "topology": TOPOLOGY, "client_tags": (), **fields}
        wait_until(lambda: self.beat((), member_epoch=JOIN_GROUP_EPOCH, **values) is ErrorCode.NONE, 60)

    def beat(self, owned: Iterable[tuple[str, int]] | None = None, **fields: Any) -> ErrorCode:
        """A heartbeat."""
        values = {"member_epoch": self.epoch, **self._identity, **fields}
        if owned is not None:
            owned_tasks = frozenset(TaskId(*each) for each in owned)
            values |= {
                "active_tasks": listed_tasks(owned_tasks),
                "standby_tasks": (),
                "warmup_tasks": (),
            }
        response = self._connection.ask(StreamsGroupHeartbeatRequest(**values), _VERSION)
        if not response.error_code:
            self.epoch = response.member_epoch
        code: ErrorCode = response.error_code
        return code


def dynamic_members(tour: Tour, connection: RawConnection) -> None:
    """Internal topics are created, and two members share tasks."""
    first, second = StreamsTourist(connection, MEMBER_A), StreamsTourist(connection, MEMBER_B)
    offsets = (TaskOffset(subtopology_id="1", partition=0, offset=7),)
    first.join(process_id="process-a", rack_id="rack-a", client_tags=TAGS, user_endpoint=ENDPOINT)
    tour.note("join without internal topics", StreamsGroupCurrentMemberAssignment)
    wait_until(lambda: _has_tasks(first), 60)
    tour.note("internal topics exist", StreamsGroupCurrentMemberAssignment, StreamsGroupMetadata)
    second.join(process_id="process-b", task_offsets=offsets)
    tour.note("second member joins", StreamsGroupCurrentMemberAssignment)
    first.beat()
    tour.note("first member must revoke", StreamsGroupCurrentMemberAssignment)
    first.beat([])
    tour.note("first member has revoked", StreamsGroupCurrentMemberAssignment)
    second.beat()
    tour.note("second member gets them", StreamsGroupCurrentMemberAssignment)
    tour.ask.configure(streams_num_standby_replicas="1")
    second.beat()
    tour.note("standby tasks are wanted", StreamsGroupTargetAssignmentMetadata)
    second.beat(member_epoch=LEAVE_GROUP_EPOCH)
    tour.note("second member leaves", StreamsGroupMetadata)
    first.beat(member_epoch=LEAVE_GROUP_EPOCH)
    tour.note("last member leaves", StreamsGroupTargetAssignmentMetadata)


def _has_tasks(member: StreamsTourist) -> bool:
    member.beat()
    return member.epoch > _EPOCH_WITHOUT_TOPICS


def static_member(tour: Tour, connection: RawConnection) -> None:
    """A static member leaves for a while, and returns under another id."""
    member = StreamsTourist(connection, MEMBER_C, INSTANCE)
    member.join(process_id="process-c")
    tour.note("static member joins", StreamsGroupCurrentMemberAssignment)
    member.beat(member_epoch=LEAVE_STATIC_EPOCH)
    tour.note("static member is away", StreamsGroupCurrentMemberAssignment)
    returned = StreamsTourist(connection, MEMBER_A, INSTANCE)
    returned.join(process_id="process-c")
    tour.note("static member returns", StreamsGroupCurrentMemberAssignment)
    returned.beat(member_epoch=LEAVE_GROUP_EPOCH)
    tour.note("static member leaves", StreamsGroupTargetAssignmentMetadata)


def the_end(tour: Tour, _connection: RawConnection) -> None:
    """The group is deleted."""
    tour.ask.delete_group()
    tour.note("group is deleted", StreamsGroupMetadata)


def main() -> None:
    """Capture everything."""
    with KafkaProcess(properties=PROPERTIES) as kafka, RawConnection(kafka.host, kafka.port) as connection:
        tour = Tour(connection, kafka.bootstrap_servers)
        tour.ask = ShareRequests(connection, GROUP)
        tour.topic_ids[SOURCE] = tour.ask.create_topic(SOURCE, 2)
        wait_until(tour.ask.has_coordinator, 60)
        for steps in (dynamic_members, static_member, the_end):
            steps(tour, connection)
        records = tuple(GoldenRecord(step=each.step, stored=each.stored) for each in tour.records)
        golden = GoldenRecords(
            broker=f"Apache Kafka {kafka.version}", topic_ids=tour.topic_ids, steps=tuple(tour.steps), records=records
        )
    save_records(golden, FILE)


if __name__ == "__main__":
    main()
