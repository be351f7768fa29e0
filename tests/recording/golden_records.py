"""Golden records: what a real Kafka wrote to its internal topics, and after which step of a tour.

`python -m tests.recording.golden_records`, from the root of the project, captures them anew. It starts a real Kafka,
plays members and administrators of two share groups by hand and has a classic group commit an offset. It keeps all that
appears in the internal topics. Ids and times differ from capture to capture. Needs Java, Maven and confluent-kafka;
takes about a minute.
"""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from attrs import asdict, frozen
from confluent_kafka import Consumer

from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata, OffsetCommit
from kafka_groups.protocol.coordinator_records.share_group import (
    ShareGroupMetadata,
    ShareGroupStatePartitionMetadata,
)
from kafka_groups.protocol.coordinator_records.share_group_state import ShareSnapshot, ShareUpdate
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareStatePartition,
    ReadShareStateTopic,
)
from kafka_groups.protocol.messages.share_group_heartbeat import JOIN_EPOCH, LEAVE_EPOCH
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import AcknowledgeType
from tests.support.conditions import wait_until
from tests.support.kafka.internal_topics import InternalTopics, StoredRecord
from tests.support.kafka.real_kafka import RawConnection
from tests.support.requests.share_requests import ShareRequests

FILE = Path(__file__).parent.parent / "golden" / "coordinator_records.json"

GROUP, DEAD_LETTER_GROUP, CLASSIC_GROUP = "golden-group", "golden-dead", "golden-classic"
TOPIC_A, TOPIC_B, TOPIC_C, DEAD_LETTERS = "golden-a", "golden-b", "golden-c", "dlq.golden"
CLASSIC_CLIENT = "golden-consumer"
MEMBER_A, MEMBER_B, MEMBER_C = "A" * 22, "B" * 22, "C" * 22
LOCK_MS = 2_000
NEWER_LEADER_EPOCH = 3
UPDATES_PER_SNAPSHOT = 5
PROPERTIES = {
    "group.share.assignment.interval.ms": "0",
    "group.share.min.assignment.interval.ms": "0",
    "share.coordinator.snapshot.update.records.per.snapshot": str(UPDATES_PER_SNAPSHOT),
}
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT

_SETTLE_S = 1.0
"""Records of a step may follow the ones that it waits for."""


@frozen(kw_only=True)
class GoldenRecord:
    """One record, and the step of the tour that had it written."""

    step: str
    stored: StoredRecord


@frozen(kw_only=True)
class GoldenRecords:
    """All records of a capture.

    Attributes:
        broker: The broker that wrote them.
        topic_ids: Ids of the topics.
        steps: The steps of the tour.
        records: The records: those of `__consumer_offsets`, then those of `__share_group_state`, step by step.
    """

    broker: str
    topic_ids: Mapping[str, UUID]
    steps: tuple[str, ...]
    records: tuple[GoldenRecord, ...]


def load_records(file: Path = FILE) -> GoldenRecords:
    """The captured records."""
    content = json.loads(file.read_text(encoding="utf-8"))
    return GoldenRecords(
        broker=content["broker"],
        topic_ids={name: UUID(text) for name, text in content["topic_ids"].items()},
        steps=tuple(content["steps"]),
        records=tuple(_read(**entry) for entry in content["records"]),
    )


def save_records(golden: GoldenRecords, file: Path = FILE) -> None:
    """Replace the captured records."""
    content = {
        "broker": golden.broker,
        "topic_ids": {name: str(topic_id) for name, topic_id in golden.topic_ids.items()},
        "steps": golden.steps,
        "records": [_written(record) for record in golden.records],
    }
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _read(step: str, key: str, value: str | None, **others: Any) -> GoldenRecord:
    raw = None if value is None else bytes.fromhex(value)
    return GoldenRecord(step=step, stored=StoredRecord(key=bytes.fromhex(key), value=raw, **others))


def _written(record: GoldenRecord) -> dict[str, Any]:
    stored = record.stored
    value = None if stored.value is None else stored.value.hex()
    return {"step": record.step, **asdict(stored), "key": stored.key.hex(), "value": value}


# --------------------------------------------------------------------------------------------- the tour


class Tour:
    """Plays the steps, and notes what each had written."""

    def __init__(self, connection: RawConnection, bootstrap_servers: str) -> None:
        self.ask = ShareRequests(connection, GROUP)
        self.ask_dead = ShareRequests(connection, DEAD_LETTER_GROUP)
        self.ask_classic = ShareRequests(connection, CLASSIC_GROUP)
        self.bootstrap_servers = bootstrap_servers
        self.steps: list[str] = []
        self.records: list[GoldenRecord] = []
        self.topic_ids: dict[str, UUID] = {}
        self._log = InternalTopics(connection)
        self._epochs: dict[str, int] = {}

    def note(self, step: str, *wanted: type) -> None:
        """Wait until records of the wanted types have appeared, and note all that have."""
        found: list[StoredRecord] = []

        def complete() -> bool:
            found.extend(self._log.read())
            types = [type(record.decode()) for record in found]
            return all(types.count(each) >= wanted.count(each) for each in wanted)

        wait_until(complete, 60)
        threading.Event().wait(_SETTLE_S)
        found += self._log.read()
        found.sort(key=lambda record: (record.topic, record.offset))
        self.steps.append(step)
        self.records += [GoldenRecord(step=step, stored=record) for record in found]

    def create_topics(self) -> None:
        """Topics with records, and configurations of the groups."""
        for name, partitions in ((TOPIC_A, 2), (TOPIC_B, 1), (TOPIC_C, 1)):
            self.topic_ids[name] = self.ask.create_topic(name, partitions, retention_ms="-1")  # the records are old
            self.ask.produce(self.topic_ids[name], 0, 20)
        self.topic_ids[DEAD_LETTERS] = self.ask.create_topic(DEAD_LETTERS, errors_deadletterqueue_group_enable="true")
        for asking in (self.ask, self.ask_dead):
            wait_until(asking.has_coordinator, 60)
            asking.configure(share_auto_offset_reset="earliest", share_record_lock_duration_ms=str(LOCK_MS))
        self.ask_dead.configure(errors_deadletterqueue_topic_name=DEAD_LETTERS)

    def beat(self, asking: ShareRequests, member_id: str, *topics: str) -> Any:
        """A heartbeat that is answered: the first one joins."""
        epoch = self._epochs.get(member_id, JOIN_EPOCH)
        answers: list[Any] = []

        def answered() -> bool:
            answers.append(asking.heartbeat(member_id, epoch, topics or None))
            return bool(answers[-1].error_code == ErrorCode.NONE)

        wait_until(answered, 60)
        self._epochs[member_id] = answers[-1].member_epoch
        return answers[-1]

    def leave(self, asking: ShareRequests, member_id: str) -> None:
        """The last heartbeat."""
        asking.heartbeat(member_id, LEAVE_EPOCH)

    def acquire(self, asking: ShareRequests, member_id: str, topic: str, count: int) -> None:
        """Open a session anew and acquire records of partition 0."""
        topic_id = self.topic_ids[topic]
        acquired: list[Any] = []
        epochs = iter(range(2**31))

        def fetched() -> bool:
            response = asking.fetch(member_id, next(epochs), topic_id, max_records=count)
            assert response.error_code is ErrorCode.NONE, response
            acquired.extend(a for t in response.responses for p in t.partitions for a in p.acquired_records)
            return bool(acquired)

        wait_until(fetched, 60)
        self._session_epoch = next(epochs)

    def acknowledge(
        self, asking: ShareRequests, member_id: str, topic: str, kinds: Mapping[tuple[int, int], AcknowledgeType]
    ) -> None:
        """Acknowledge what was acquired of partition 0."""
        response = asking.acknowledge(member_id, self._session_epoch, self.topic_ids[topic], kinds)
        assert response.responses[0].partitions[0].error_code is ErrorCode.NONE, response
        self._session_epoch += 1

    def read_state(self, topic: str, leader_epoch: int) -> None:
        """Ask the share coordinator for the state of partition 0, as a leader with this epoch does."""
        partitions = (ReadShareStatePartition(partition=0, leader_epoch=leader_epoch),)
        topics = (ReadShareStateTopic(topic_id=self.topic_ids[topic], partitions=partitions),)
        (result,) = self.ask.ask(ReadShareGroupStateRequest(group_id=GROUP, topics=topics)).results
        assert result.partitions[0].error_code is ErrorCode.NONE, result


INITIALISED = (ShareGroupStatePartitionMetadata, ShareGroupStatePartitionMetadata)


def members(tour: Tour) -> None:
    """Members join, leave, and change their subscriptions."""
    tour.beat(tour.ask, MEMBER_A, TOPIC_A)
    tour.note("join", *INITIALISED, ShareSnapshot, ShareSnapshot)
    tour.beat(tour.ask, MEMBER_B, TOPIC_A)
    tour.note("second member joins", ShareGroupMetadata)
    tour.beat(tour.ask, MEMBER_A)
    tour.note("first member learns of it")
    tour.leave(tour.ask, MEMBER_B)
    tour.note("second member leaves", ShareGroupMetadata)
    tour.beat(tour.ask, MEMBER_A, TOPIC_A, TOPIC_B)
    tour.note("subscription changes", *INITIALISED, ShareSnapshot)
    tour.beat(tour.ask, MEMBER_A)
    tour.note("new topic is assigned")


def deliveries(tour: Tour) -> None:
    """Records are accepted, released, archived and left alone."""
    tour.acquire(tour.ask, MEMBER_A, TOPIC_A, 5)
    tour.acknowledge(tour.ask, MEMBER_A, TOPIC_A, {(0, 2): ACCEPT, (3, 3): RELEASE, (4, 4): REJECT})
    tour.note("acknowledge", ShareUpdate)
    tour.ask.close_session(MEMBER_A)
    tour.note("close session without locks")
    tour.acquire(tour.ask, MEMBER_A, TOPIC_A, 1)
    tour.ask.close_session(MEMBER_A)
    tour.note("close session", ShareUpdate)
    tour.acquire(tour.ask, MEMBER_A, TOPIC_A, 1)
    tour.note("lock expires", ShareUpdate)
    tour.read_state(TOPIC_A, 0)
    tour.note("read")
    tour.read_state(TOPIC_A, NEWER_LEADER_EPOCH)
    tour.note("read with a newer leader epoch", ShareUpdate)
    tour.read_state(TOPIC_A, NEWER_LEADER_EPOCH + 1)
    tour.note("fifth update", ShareUpdate)
    tour.read_state(TOPIC_A, NEWER_LEADER_EPOCH + 2)
    tour.note("snapshot instead of a sixth update", ShareSnapshot)


def dead_letters(tour: Tour) -> None:
    """A rejected record goes to the dead-letter topic."""
    tour.beat(tour.ask_dead, MEMBER_C, TOPIC_C)
    tour.note("join with dead letters", *INITIALISED, ShareSnapshot)
    tour.beat(tour.ask_dead, MEMBER_C)
    tour.note("assigned with dead letters")
    tour.acquire(tour.ask_dead, MEMBER_C, TOPIC_C, 2)
    tour.acknowledge(tour.ask_dead, MEMBER_C, TOPIC_C, {(0, 0): ACCEPT, (1, 1): REJECT})
    tour.note("reject with dead letters", ShareUpdate, ShareUpdate)
    tour.ask_dead.close_session(MEMBER_C)
    tour.leave(tour.ask_dead, MEMBER_C)
    tour.note("leave with dead letters", ShareGroupMetadata)
    tour.ask_dead.delete_group()
    tour.note("delete group with state", ShareGroupMetadata, ShareSnapshot)


def administration(tour: Tour) -> None:
    """Offsets are changed and deleted, a topic and the group are deleted."""
    tour.ask.close_session(MEMBER_A)
    tour.leave(tour.ask, MEMBER_A)
    tour.note("last member leaves", ShareGroupMetadata)
    tour.ask.alter_offsets(TOPIC_A, {0: 7})
    tour.note("alter offsets", *INITIALISED, ShareSnapshot)
    tour.ask.delete_offsets(TOPIC_B)
    tour.note("delete offsets", *INITIALISED, ShareSnapshot)
    tour.ask.delete_topic(tour.topic_ids[TOPIC_A])
    tour.note("delete topic", ShareGroupStatePartitionMetadata, ShareSnapshot, ShareSnapshot)
    tour.ask.delete_group()
    tour.note("delete group", ShareGroupMetadata)


def offsets(tour: Tour) -> None:
    """A consumer of a classic group commits an offset."""
    consumer = Consumer({
        "bootstrap.servers": tour.bootstrap_servers, "group.id": CLASSIC_GROUP, "client.id": CLASSIC_CLIENT,
        "auto.offset.reset": "earliest", "enable.auto.commit": False,
    })  # fmt: skip
    consumer.subscribe([TOPIC_C])
    wait_until(lambda: consumer.poll(0.5), 60)
    tour.note("classic member joins", ClassicGroupMetadata)
    consumer.commit(asynchronous=False)
    tour.note("classic member commits", OffsetCommit)
    consumer.close()
    tour.note("classic member leaves", ClassicGroupMetadata)
    tour.ask_classic.delete_group()
    tour.note("delete classic group", ClassicGroupMetadata, OffsetCommit)


STEPS: tuple[Callable[[Tour], None], ...] = (members, deliveries, dead_letters, administration, offsets)


def main() -> None:
    """Capture everything."""
    with KafkaProcess(properties=PROPERTIES) as kafka, RawConnection(kafka.host, kafka.port) as connection:
        tour = Tour(connection, kafka.bootstrap_servers)
        tour.create_topics()
        for steps in STEPS:
            steps(tour)
        golden = GoldenRecords(
            broker=f"Apache Kafka {kafka.version}",
            topic_ids=tour.topic_ids,
            steps=tuple(tour.steps),
            records=tuple(tour.records),
        )
    save_records(golden)


if __name__ == "__main__":
    main()
