"""A broker that comes back without its groups: share consumer, worker and application say what must have happened."""

import shutil
import threading

import pytest

from kafka_groups import KafkaShareConsumer, Worker
from kafka_groups.errors import GroupIdNotFoundError
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.streams import KafkaStreams, StreamsBuilder, StreamsState, serdes
from kafka_groups.testing import KafkaProcess
from tests.support.conditions import wait_until

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE_S = 90


def forget_groups(kafka: KafkaProcess) -> None:
    """Restart a broker that has lost the topic with its groups, and knows everything else."""
    kafka.stop()
    for folder in (kafka._home / "data").glob("__consumer_offsets-*"):
        shutil.rmtree(folder)
    kafka.restart()


def copying(servers: str) -> KafkaStreams:
    builder = StreamsBuilder()
    builder.stream("orders", key=serdes.string, value=serdes.string).to("copied")
    return KafkaStreams(builder.build(), application_id="app", bootstrap_servers=servers)


def ends(consumer: KafkaShareConsumer[bytes, bytes], told: list[str]) -> bool:
    try:
        consumer.poll(0.2)
    except GroupIdNotFoundError as error:
        told.append(str(error))
    return bool(told)


def test_clients_of_groups_that_vanished_say_what_happened() -> None:
    with KafkaProcess() as kafka:
        servers, told = kafka.bootstrap_servers, dict[str, str]()
        create_topics({"bootstrap.servers": servers}, {"orders": 1, "copied": 1})
        worker = Worker("worker", bootstrap_servers=servers)

        @worker.handler("orders")
        def handle(value: bytes) -> None: ...

        def work() -> None:
            try:
                worker.run()
            except GroupIdNotFoundError as error:
                told["worker"] = str(error)

        working = threading.Thread(target=work, daemon=True)
        consumer = KafkaShareConsumer(bootstrap_servers=servers, group_id="consumer", close_timeout=5)
        with consumer, copying(servers) as app:
            working.start()
            consumer.subscribe(["orders"])
            wait_until(lambda: consumer.poll(0.2) or bool(consumer.assignment()), PATIENCE_S)
            wait_until(lambda: worker.health().is_ready, PATIENCE_S)
            app.wait_until_running(PATIENCE_S)
            forget_groups(kafka)
            found: list[str] = []
            wait_until(lambda: ends(consumer, found), PATIENCE_S)
            told["consumer"] = found[0]
            wait_until(lambda: app.state is StreamsState.ERROR, PATIENCE_S)
            told["app"] = str(app.error)
            working.join(PATIENCE_S)
        assert told.keys() == {"consumer", "worker", "app"}
        for group, text in told.items():
            assert f"{group!r} does not exist any more" in text
            assert "offset" in text
