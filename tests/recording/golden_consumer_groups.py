"""Golden records of a consumer group: what a real Kafka wrote for it, and after which step of a tour.

`python -m tests.recording.golden_consumer_groups`, from the root of the project, captures them anew. Needs Java and
Maven; takes about half a minute.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from kafka_groups.protocol.coordinator_records.consumer_group import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMetadata,
    ConsumerGroupRegularExpression,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.recording.golden_records import GoldenRecord, GoldenRecords, Tour, load_records, save_records
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import RawConnection
from tests.support.members.classic_member import subscription
from tests.support.requests.share_requests import ShareRequests

FILE = Path(__file__).parent.parent / "golden" / "consumer_group_records.json"
GROUP = "golden-consumers"
TOPIC_A, TOPIC_B = "golden-a", "golden-b"
MEMBER_A, MEMBER_B, MEMBER_C = "A" * 22, "B" * 22, "C" * 22
INSTANCE = "instance"
REBALANCE_MS, SESSION_MS = 30_000, 45_000
REGEX = "golden-.*"
PROPERTIES = {"group.consumer.assignment.interval.ms": "0", "group.consumer.min.assignment.interval.ms": "0"}

_OLD_JOIN = 2
"""A version in which a new member need not join twice."""


def load() -> GoldenRecords:
    """The captured records."""
    return load_records(FILE)


class Member:
    """A member whose heartbeats say what the caller wants."""

    def __init__(self, connection: RawConnection, member_id: str, instance: str | None = None) -> None:
        self._connection = connection
        self._identity: dict[str, Any] = {"group_id": GROUP, "member_id": member_id, "instance_id": instance}
        self._epoch = JOIN_GROUP_EPOCH

    def join(self, *topics: str, **fields: Any) -> None:
        """The first heartbeat, until it is answered."""
        wait_until(lambda: self._joined(*topics, **fields), 60)

    def beat(self, owned: Sequence[tuple[UUID, tuple[int, ...]]] | None = None, **fields: Any) -> ErrorCode:
        """A heartbeat."""
        partitions = None
        if owned is not None:
            partitions = tuple(ConsumerGroupHeartbeatTopicPartitions(topic_id=t, partitions=p) for t, p in owned)
        values = {"member_epoch": self._epoch, **self._identity, **fields}
        response = self._connection.ask(ConsumerGroupHeartbeatRequest(**values, topic_partitions=partitions), 1)
        if not response.error_code:
            self._epoch = response.member_epoch
        code: ErrorCode = response.error_code
        return code

    def _joined(self, *topics: str, **fields: Any) -> bool:
        code = self.beat((), rebalance_timeout_ms=REBALANCE_MS, subscribed_topic_names=topics, **fields)
        return code is ErrorCode.NONE


def dynamic_members(tour: Tour, connection: RawConnection) -> None:
    """Two members share partitions."""
    first, second = Member(connection, MEMBER_A), Member(connection, MEMBER_B)
    topic_id = tour.topic_ids[TOPIC_A]
    first.join(TOPIC_A, rack_id="rack-a")
    tour.note("join", ConsumerGroupCurrentMemberAssignment)
    second.join(TOPIC_A, server_assignor="range")
    tour.note("second member joins", ConsumerGroupCurrentMemberAssignment)
    first.beat()
    tour.note("first member must revoke", ConsumerGroupCurrentMemberAssignment)
    first.beat([(topic_id, (0,))])
    tour.note("first member has revoked", ConsumerGroupCurrentMemberAssignment)
    second.beat()
    tour.note("second member gets them", ConsumerGroupCurrentMemberAssignment)
    second.beat(member_epoch=LEAVE_GROUP_EPOCH)
    tour.note("second member leaves", ConsumerGroupMetadata)
    first.beat(subscribed_topic_regex=REGEX)
    tour.note("member subscribes to a regex", ConsumerGroupRegularExpression)
    first.beat(member_epoch=LEAVE_GROUP_EPOCH)
    tour.note("last member leaves", ConsumerGroupMetadata)


def static_member(tour: Tour, connection: RawConnection) -> None:
    """A static member leaves for a while, and returns under another id."""
    member = Member(connection, MEMBER_C, INSTANCE)
    member.join(TOPIC_B)
    tour.note("static member joins", ConsumerGroupCurrentMemberAssignment)
    member.beat(member_epoch=LEAVE_STATIC_EPOCH)
    tour.note("static member is away", ConsumerGroupCurrentMemberAssignment)
    returned = Member(connection, MEMBER_A, INSTANCE)
    returned.join(TOPIC_B)
    tour.note("static member returns", ConsumerGroupCurrentMemberAssignment)


def classic_member(tour: Tour, connection: RawConnection) -> None:
    """A member joins by JoinGroup."""
    protocols = (JoinGroupRequestProtocol(name="range", metadata=subscription(TOPIC_B)),)
    request = JoinGroupRequest(
        group_id=GROUP, session_timeout_ms=SESSION_MS, rebalance_timeout_ms=REBALANCE_MS, member_id="",
        protocol_type="consumer", protocols=protocols,
    )  # fmt: skip
    assert not connection.ask(request, _OLD_JOIN).error_code
    tour.note("classic member joins", ConsumerGroupCurrentMemberAssignment)


def the_end(tour: Tour, connection: RawConnection) -> None:
    """All members leave, and the group is deleted."""
    tour.ask.delete_group()  # refused
    Member(connection, MEMBER_A, INSTANCE).beat(member_epoch=LEAVE_GROUP_EPOCH)
    tour.note("static member leaves", ConsumerGroupMetadata)


def main() -> None:
    """Capture everything."""
    with KafkaProcess(properties=PROPERTIES) as kafka, RawConnection(kafka.host, kafka.port) as connection:
        tour = Tour(connection, kafka.bootstrap_servers)
        for name, partitions in ((TOPIC_A, 2), (TOPIC_B, 1)):
            tour.topic_ids[name] = tour.ask.create_topic(name, partitions)
        wait_until(ShareRequests(connection, GROUP).has_coordinator, 60)
        for steps in (dynamic_members, static_member, classic_member, the_end):
            steps(tour, connection)
        records = tuple(GoldenRecord(step=each.step, stored=each.stored) for each in tour.records)
        golden = GoldenRecords(
            broker=f"Apache Kafka {kafka.version}", topic_ids=tour.topic_ids, steps=tuple(tour.steps), records=records
        )
    save_records(golden, FILE)


if __name__ == "__main__":
    main()
