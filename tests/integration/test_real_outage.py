"""A real Kafka that is away for longer than `default.api.timeout.ms`: the consumer continues when it is back."""

import logging
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from kafka_groups import ConsumerState, KafkaAdmin, KafkaShareConsumer, StreamsGroupMember
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams import GroupTopologyBuilder, MembershipState
from kafka_groups.testing import KafkaProcess
from tests.support.conditions import wait_until

TOPIC = "orders"


def produce(kafka: KafkaProcess, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 2})
    for value in values:
        producer.produce(TOPIC, value)
    assert producer.flush(30) == 0


def polled_until(consumer: KafkaShareConsumer[bytes, bytes], value: bytes) -> None:
    wait_until(lambda: any(record.value == value for record in consumer.poll(timeout=0.5)), 60)


def produced_until_polled(kafka: KafkaProcess, consumer: KafkaShareConsumer[bytes, bytes], value: bytes) -> None:
    """The group begins at the end of the topic, when its leader has loaded the share-partition: not with the first."""

    def is_polled() -> bool:
        produce(kafka, value)
        return bool(consumer.poll(timeout=2))

    wait_until(is_polled, 60)


@pytest.mark.real_kafka
@pytest.mark.slow
def test_a_consumer_continues_after_a_real_outage(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_groups")
    with KafkaProcess() as kafka:
        config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "default.api.timeout.ms": 2_000}
        with KafkaShareConsumer(config) as consumer:
            consumer.subscribe([TOPIC])
            produced_until_polled(kafka, consumer, b"before")
            consumer.commit_sync()

            kafka.kill()
            wait_until(lambda: consumer.poll(timeout=0.5) or consumer.metrics()["unreachable-seconds"] > 4, 60)
            assert consumer.state is ConsumerState.UNREACHABLE

            kafka.restart()
            produce(kafka, b"after")
            polled_until(consumer, b"after")
            wait_until(lambda: consumer.poll(timeout=0.5) or consumer.state is ConsumerState.ACTIVE, 60)
    said = [record.getMessage() for record in caplog.records if record.name == "kafka_groups.network"]
    assert any("Cannot reach a broker" in text for text in said)
    assert any(text.startswith("Reached ") for text in said)


@pytest.mark.real_kafka
@pytest.mark.slow
def test_clients_close_in_time_while_the_broker_is_away() -> None:
    topology = GroupTopologyBuilder().add_subtopology("0", sources=[TOPIC]).build()
    with KafkaProcess() as kafka:
        config = {"bootstrap.servers": kafka.bootstrap_servers}
        consumer = KafkaShareConsumer({**config, "group.id": "g"})
        consumer.subscribe([TOPIC])
        produced_until_polled(kafka, consumer, b"before")
        member = StreamsGroupMember({**config, "application.id": "app"}, topology=topology)
        member.join()
        wait_until(lambda: has_tasks(member), 60)
        admin = KafkaAdmin(config)
        assert "g" in [group.group_id for group in admin.list_share_groups().groups]
        kafka.kill()
        assert seconds_of(consumer.close) < 7  # with what a busy machine adds to 5 s
        assert seconds_of(member.close) < 7
        assert seconds_of(admin.close) < 3


def has_tasks(member: StreamsGroupMember) -> bool:
    member.poll(timeout=0.5)
    return member.state is MembershipState.STABLE and bool(member.tasks)


def seconds_of(call: Callable[[], object]) -> float:
    clock = SystemClock()
    before_ms = clock.now_ms()
    call()
    return (clock.now_ms() - before_ms) / 1000
