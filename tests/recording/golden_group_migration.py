"""Golden records of a group that changes its type: what a real Kafka wrote for it, and after which step of a tour.

`python -m tests.recording.golden_group_migration`, from the root of the project, captures them anew. Needs Java and
Maven; takes about half a minute.
"""

from pathlib import Path
from typing import Any

from attrs import evolve

from kafka_groups.protocol.coordinator_records.consumer_group import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMetadata,
)
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata, OffsetCommit
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import LEAVE_GROUP_EPOCH
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.recording.golden_consumer_groups import (
    GROUP,
    MEMBER_A,
    PROPERTIES,
    REBALANCE_MS,
    SESSION_MS,
    TOPIC_A,
    Member,
)
from tests.recording.golden_records import GoldenRecord, GoldenRecords, Tour, load_records, save_records
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import RawConnection
from tests.support.members.classic_member import subscription
from tests.support.requests.share_requests import ShareRequests

FILE = Path(__file__).parent.parent / "golden" / "group_migration_records.json"
OFFSET = 7

_OLD_JOIN, _OLD_SYNC, _OLD_LEAVE, _COMMIT = 2, 2, 2, 8
"""Versions in which a new member need not join twice, and topics have names."""
_NOT_THERE_YET = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
_JOIN = JoinGroupRequest(
    group_id=GROUP,
    session_timeout_ms=SESSION_MS,
    rebalance_timeout_ms=REBALANCE_MS,
    member_id="",
    protocol_type="consumer",
    protocols=(JoinGroupRequestProtocol(name="range", metadata=subscription(TOPIC_A)),),
)


def load() -> GoldenRecords:
    """The captured records."""
    return load_records(FILE)


def assigned(*numbers: int) -> bytes:
    """An assignment of partitions of the topic."""
    written = b"".join(number.to_bytes(4, "big") for number in numbers)
    return subscription(TOPIC_A)[:-4] + len(numbers).to_bytes(4, "big") + written + b"\xff\xff\xff\xff"


class ClassicMember:
    """A member that speaks the classic protocol."""

    def __init__(self, connection: RawConnection) -> None:
        self._connection = connection
        self._member_id, self._generation = "", -1

    def join(self) -> None:
        """JoinGroup, until the coordinator has loaded the group."""
        wait_until(self._has_joined, 60)

    def _has_joined(self) -> bool:
        response = self._connection.ask(evolve(_JOIN, member_id=self._member_id), _OLD_JOIN)
        if response.error_code in _NOT_THERE_YET:
            return False
        assert not response.error_code, response
        self._member_id, self._generation = response.member_id, response.generation_id
        return True

    def sync(self, assignment: bytes | None = None) -> None:
        """SyncGroup, of the leader if an assignment is given."""
        assignments = () if assignment is None else (
            SyncGroupRequestAssignment(member_id=self._member_id, assignment=assignment),
        )  # fmt: skip
        request = SyncGroupRequest(
            group_id=GROUP, generation_id=self._generation, member_id=self._member_id, assignments=assignments
        )
        self._ask(request, _OLD_SYNC)

    def commit(self) -> None:
        """Commit an offset of the first partition."""
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=OFFSET, committed_metadata="")
        topic = OffsetCommitRequestTopic(name=TOPIC_A, partitions=(partition,))
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=self._generation,
            member_id=self._member_id,
            topics=(topic,),
        )
        self._connection.ask(request, _COMMIT)

    def leave(self) -> None:
        """LeaveGroup."""
        self._ask(LeaveGroupRequest(group_id=GROUP, member_id=self._member_id), _OLD_LEAVE)

    def _ask(self, request: object, version: int) -> Any:
        response = self._connection.ask(request, version)
        assert not response.error_code, response
        return response


def with_members(tour: Tour, connection: RawConnection) -> None:
    """A classic group becomes a consumer group when a member of that type joins, and a classic one when it leaves."""
    old, new = ClassicMember(connection), Member(connection, MEMBER_A)
    old.join()
    old.sync(assigned(0, 1))
    tour.note("classic group", ClassicGroupMetadata)
    old.commit()
    tour.note("classic member commits", OffsetCommit)
    new.join(TOPIC_A)
    tour.note("consumer joins", ConsumerGroupCurrentMemberAssignment)
    old.join()
    old.sync()
    tour.note("classic member joins again", ConsumerGroupCurrentMemberAssignment)
    new.beat()
    tour.note("consumer gets a partition", ConsumerGroupCurrentMemberAssignment)
    new.beat(member_epoch=LEAVE_GROUP_EPOCH)
    tour.note("consumer leaves", ClassicGroupMetadata)
    old.leave()
    tour.note("classic member leaves", ClassicGroupMetadata)


def without_members(tour: Tour, connection: RawConnection) -> None:
    """The group is empty when its type changes."""
    new = Member(connection, MEMBER_A)
    new.join(TOPIC_A)
    tour.note("consumer joins the empty group", ConsumerGroupCurrentMemberAssignment)
    new.beat(member_epoch=LEAVE_GROUP_EPOCH)
    tour.note("empty consumer group", ConsumerGroupMetadata)
    old = ClassicMember(connection)
    old.join()
    tour.note("classic member joins the empty group", ClassicGroupMetadata)
    old.leave()
    tour.note("empty classic group", ClassicGroupMetadata)


def main() -> None:
    """Capture everything."""
    with KafkaProcess(properties=PROPERTIES) as kafka, RawConnection(kafka.host, kafka.port) as connection:
        tour = Tour(connection, kafka.bootstrap_servers)
        tour.topic_ids[TOPIC_A] = tour.ask.create_topic(TOPIC_A, 2)
        wait_until(ShareRequests(connection, GROUP).has_coordinator, 60)
        for steps in (with_members, without_members):
            steps(tour, connection)
        records = tuple(GoldenRecord(step=each.step, stored=each.stored) for each in tour.records)
        golden = GoldenRecords(
            broker=f"Apache Kafka {kafka.version}", topic_ids=tour.topic_ids, steps=tuple(tour.steps), records=records
        )
    save_records(golden, FILE)


if __name__ == "__main__":
    main()
