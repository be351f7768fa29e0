"""The writer of dead letters over real logs and metadata, with the turns of the loop in the hands of a test."""

import logging
import random
from collections.abc import Mapping

import pytest
from attrs import evolve

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint, TopicMetadata
from kafka_groups.broker.produced import ProducedRecord, produced_records
from kafka_groups.broker.runtime.dead_letters.queue_appends import Appended, QueueAppends
from kafka_groups.broker.runtime.dead_letters.queue_writer import DeadLetterQueueWriter
from kafka_groups.broker.share_partitions.dead_letters import DeadLetterReason, DeadLetterRun
from kafka_groups.broker.share_partitions.partition import SharePartitionKey
from kafka_groups.config.cluster.broker import BrokerSettings, ShareGroupConfig
from kafka_groups.errors import BrokerError, InvalidRecordError, NetworkExceptionError, NotLeaderOrFollowerError
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE, TOPIC_RESOURCE
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.types import TopicIdPartition, TopicPartition
from tests.support.broker.coordinators import Cluster

ENABLED = {"errors.deadletterqueue.group.enable": "true"}
RUN = DeadLetterRun(0, 2, 1, DeadLetterReason.REJECTED)
CREATES = "errors.deadletterqueue.auto.create.topics.enable"


class Scene:
    """Two brokers, the topic `orders` with four partitions, and the group `invoices`."""

    def __init__(
        self,
        queue: str = "dlq.x",
        *,
        settings: BrokerSettings | None = None,
        copies: bool = False,
        appends: "Scripted | None" = None,
    ) -> None:
        self.metadata = ClusterMetadata(random.Random(1))
        for node_id in (0, 1):
            self.metadata.register_broker(BrokerEndpoint(node_id, "host", 9092 + node_id))
        self.orders = self.metadata.create_topic("orders", 4)
        self.cluster = Cluster(self.metadata, settings=settings)
        self.config = ShareGroupConfig(
            errors_deadletterqueue_topic_name=queue, errors_deadletterqueue_copy_record_enable=copies
        )
        share = evolve(self.cluster.parts.group_configs, share=lambda _group_id: self.config)
        broker = evolve(self.cluster.lent[0], cluster=evolve(self.cluster.parts, group_configs=share))
        self.writer = DeadLetterQueueWriter(broker, appends or QueueAppends(broker, self.cluster.brokers[0].peers))
        self.outcomes: list[bool] = []

    def create_queue(self, partitions: int = 1, configs: Mapping[str, str] = ENABLED) -> None:
        self.metadata.create_topic("dlq.x", partitions, 1, configs)
        for partition in range(partitions):
            self.metadata.move_leader(TopicPartition("dlq.x", partition), 0)

    def write(self, run: DeadLetterRun = RUN, partition: int = 0) -> None:
        key = SharePartitionKey("invoices", TopicIdPartition(self.orders.topic_id, partition, "orders"))
        self.writer.write(key, run, self.outcomes.append)

    def run(self) -> None:
        self.cluster.turns.run()

    def letters(self, queue: str = "dlq.x") -> list[ProducedRecord]:
        topic = self.metadata.topic(queue)
        assert topic is not None
        return produced_records(topic, self.cluster.parts.logs)


class Scripted:
    """Appends that end as a test says, at once."""

    def __init__(self, *errors: BrokerError | None) -> None:
        self.errors = list(errors)
        self.asked = 0

    def append(self, topic: TopicMetadata, partition: int, batch: bytes, done: Appended) -> None:
        assert (topic.name, partition) == ("dlq.x", 0)
        assert batch
        self.asked += 1
        done(self.errors.pop(0))


def offsets(letters: list[ProducedRecord]) -> list[int]:
    return [int(dict(each.headers)["__dlq.errors.offset"] or b"") for each in letters]


def test_letters_are_written_in_a_turn_of_their_own() -> None:
    scene = Scene()
    scene.create_queue()
    scene.write()
    assert scene.outcomes == []
    assert scene.letters() == []
    scene.run()
    assert scene.outcomes == [True]
    assert offsets(scene.letters()) == [0, 1, 2]
    assert (scene.writer.counters.letters, scene.writer.counters.produce_requests) == (3, 1)


def test_the_partition_is_that_of_the_record_modulo_those_of_the_queue() -> None:
    scene = Scene()
    scene.create_queue(partitions=3)
    for partition in range(4):
        scene.write(partition=partition)
    scene.run()
    assert [each.partition for each in scene.letters()] == [0] * 6 + [1] * 3 + [2] * 3


def test_a_run_is_divided_as_the_queue_demands() -> None:
    scene = Scene()
    scene.create_queue(configs={**ENABLED, "max.message.bytes": "500"})
    scene.write(DeadLetterRun(0, 4, 1, DeadLetterReason.REJECTED))
    scene.run()
    assert scene.outcomes == [True]
    assert offsets(scene.letters()) == [0, 1, 2, 3, 4]
    assert scene.writer.counters.produce_requests == 3


def test_records_are_copied_if_the_group_says_so() -> None:
    scene = Scene(copies=True)
    scene.create_queue()
    log = scene.cluster.parts.logs.get(scene.orders.topic_id, 0)
    log.append_as_is(build_batch([NewRecord(b"v0", b"k0"), NewRecord(None, b"k1")]))
    scene.write()
    scene.run()
    assert [(each.key, each.value) for each in scene.letters()] == [(b"k0", b"v0"), (b"k1", None), (None, None)]


def test_the_records_of_a_deleted_topic_are_not_copied() -> None:
    scene = Scene(copies=True)
    scene.create_queue()
    scene.write()
    scene.metadata.delete_topic("orders")
    scene.run()
    assert offsets(scene.letters()) == [0, 1, 2]


class TestQueues:
    def test_a_missing_queue_is_created_if_the_brokers_may(self) -> None:
        scene = Scene(settings=BrokerSettings(errors_deadletterqueue_auto_create_topics_enable=True, num_partitions=2))
        scene.write()
        scene.run()
        assert scene.outcomes == [True]
        topic = scene.metadata.topic("dlq.x")
        assert topic is not None
        assert topic.num_partitions == 2
        assert scene.metadata.configs.overrides(TOPIC_RESOURCE, "dlq.x") == {
            **ENABLED,
            "message.timestamp.type": "CreateTime",
        }

    @pytest.mark.parametrize(
        ("queue", "configs", "reason"),
        [
            ("dlq.x", None, "DLQ topic does not exist and auto create is disabled on cluster"),
            ("dlq.x", {}, "DLQ is not enabled on configured DLQ topic for share group: invoices, topic: dlq.x."),
            ("x", ENABLED, "topic: x, prefix: dlq.."),
            ("", None, "Configured DLQ topic name in share group: invoices is empty."),
        ],
    )
    def test_a_queue_that_takes_no_letters_is_logged(
        self, queue: str, configs: Mapping[str, str] | None, reason: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        scene = Scene(queue)
        if configs is not None:
            scene.metadata.create_topic(queue, 1, 1, configs)
        scene.write()
        scene.run()
        assert scene.outcomes == [False]
        [line] = [each for each in caplog.records if each.levelno == logging.ERROR]
        text = line.getMessage()
        assert text.startswith("Failed to write to DLQ, proceeding to ARCHIVED regardless. ")
        assert reason in text
        assert "kafka-groups " in text

    def test_a_name_that_no_topic_can_have_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        scene = Scene("dlq.a b", settings=BrokerSettings(errors_deadletterqueue_auto_create_topics_enable=True))
        scene.write()
        scene.run()
        assert scene.outcomes == [False]
        assert "Topic name is invalid: 'dlq.a b' contains" in caplog.text

    def test_the_configs_of_the_moment_count(self) -> None:
        scene = Scene()
        scene.write()
        scene.metadata.alter_configs(BROKER_RESOURCE, "", {CREATES: "TRUE"})
        scene.run()
        assert scene.outcomes == [True]
        scene.metadata.alter_configs(TOPIC_RESOURCE, "dlq.x", {"errors.deadletterqueue.group.enable": "false"})
        scene.write()
        scene.run()
        assert scene.outcomes == [True, False]
        scene.metadata.alter_configs(TOPIC_RESOURCE, "dlq.x", {"errors.deadletterqueue.group.enable": "TRUE"})
        scene.metadata.alter_configs(BROKER_RESOURCE, "0", {"errors.deadletterqueue.topic.name.prefix": "other."})
        scene.write()
        scene.run()
        assert scene.outcomes == [True, False, False]

    def test_an_append_that_is_refused_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        scene = Scene()
        scene.create_queue(configs={**ENABLED, "cleanup.policy": "compact"})
        scene.write()
        scene.run()
        assert scene.outcomes == [False]
        assert "proceeding to ARCHIVED regardless" in caplog.text
        assert scene.writer.counters.failed_produce_requests == 1


class TestRetries:
    def scripted(self, *errors: BrokerError | None) -> tuple[Scene, Scripted]:
        scripted = Scripted(*errors)
        scene = Scene(appends=scripted)
        scene.create_queue()
        return scene, scripted

    @pytest.mark.parametrize("error", [NotLeaderOrFollowerError(), NetworkExceptionError()])
    def test_what_may_pass_is_tried_again_after_a_growing_pause(self, error: BrokerError) -> None:
        scene, appends = self.scripted(error, error, error, error, None)
        scene.write()
        pauses, before_ms = [], 0
        while scene.cluster.turns.turn():
            pauses.append(scene.cluster.turns.now_ms - before_ms)
            before_ms = scene.cluster.turns.now_ms
        assert scene.outcomes == [True]
        assert appends.asked == 5
        for pause_ms, around_ms in zip(pauses[1:], (2_000, 4_000, 8_000, 16_000), strict=True):
            assert 0.8 * around_ms <= pause_ms <= 1.2 * around_ms

    def test_after_five_attempts_the_records_are_archived_without_letters(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        scene, appends = self.scripted(*[NetworkExceptionError("down")] * 5)
        scene.write()
        scene.run()
        assert scene.outcomes == [False]
        assert appends.asked == 5
        assert "Exhausted max retries to produce to DLQ topic without success. down" in caplog.text

    def test_another_error_is_not_tried_again(self) -> None:
        scene, appends = self.scripted(InvalidRecordError("no key"))
        scene.write()
        scene.run()
        assert (scene.outcomes, appends.asked) == ([False], 1)


def test_a_queue_without_a_leader_is_tried_again() -> None:
    scene = Scene()
    scene.create_queue()
    scene.metadata.move_leader(TopicPartition("dlq.x", 0), 1)
    scene.metadata.unregister_broker(1)
    outcomes: list[BrokerError | None] = []
    topic = scene.metadata.topic("dlq.x")
    assert topic is not None
    QueueAppends(scene.cluster.lent[0], scene.cluster.brokers[0].peers).append(topic, 0, b"", outcomes.append)
    assert [type(each) for each in outcomes] == [NotLeaderOrFollowerError]
