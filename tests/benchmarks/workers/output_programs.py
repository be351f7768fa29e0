"""Programs that write a record for each one that they handle, with a worker's outputs or with a producer by hand.

`python -m tests.benchmarks.workers.output_programs KIND BOOTSTRAP TOPIC GROUP RECORDS` writes 100 bytes to the topic
`TOPIC-out` for each of so many records, and prints the records and the seconds from the first one on as JSON. An
output is confirmed by all in-sync replicas before its record is accepted.
"""

import threading
from collections.abc import Callable
from typing import Any

from confluent_kafka import Producer

from kafka_groups import AcknowledgeType, Worker
from tests.benchmarks.workers.programs import Meter, begin_stop, consumer_of, run_program

__all__ = ["OUTPUT_PROGRAMS", "output_topic"]

_THREADS = 16
_PATIENCE_S = 30.0
_VALUE = bytes(100)


def output_topic(topic: str) -> str:
    """Return the name of the topic of outputs."""
    return f"{topic}-out"


def _producer(servers: str) -> Producer:
    return Producer({
        "bootstrap.servers": servers,
        "enable.idempotence": True,
        "linger.ms": 0,
        "queue.buffering.max.messages": 1_000_000,
        "log_level": 3,
    })  # fmt: skip


def loop_with_flush(servers: str, topic: str, group: str, meter: Meter) -> None:
    """A loop that polls, produces with a callback, flushes, and accepts."""
    producer, output, failed = _producer(servers), output_topic(topic), list[Any]()

    def noted(error: Any, _message: Any) -> None:
        if error is not None:
            failed.append(error)

    with consumer_of(servers, group) as consumer:
        consumer.subscribe([topic])
        while not meter.done.is_set():
            records = consumer.poll(timeout=1.0)
            for _ in records:
                producer.produce(output, _VALUE, on_delivery=noted)
            if producer.flush(_PATIENCE_S) or failed:
                raise RuntimeError(f"outputs were not confirmed: {failed[:1]}")
            for record in records:
                meter.one()
                consumer.acknowledge(record, AcknowledgeType.ACCEPT)
        consumer.commit_sync()


def waiting_threads(servers: str, topic: str, group: str, meter: Meter) -> None:
    """A worker with `def` and 16 threads whose handler produces and waits for its record."""
    worker, output, own = Worker(group, bootstrap_servers=servers), output_topic(topic), threading.local()

    @worker.handler(topic, concurrency=_THREADS)
    def handle(value: bytes) -> None:
        if not hasattr(own, "producer"):
            own.producer = _producer(servers)
        own.producer.produce(output, value)
        if own.producer.flush(_PATIENCE_S):
            raise RuntimeError("an output was not confirmed")
        meter.one()

    begin_stop(worker, meter)
    worker.run()


def one_thread(servers: str, topic: str, group: str, meter: Meter) -> None:
    """A worker with `def`, concurrency=1 and an output. The last outputs are confirmed after the end."""
    worker = Worker(group, bootstrap_servers=servers)

    @worker.handler(topic, concurrency=1, output=output_topic(topic))
    def handle(value: bytes) -> bytes:
        meter.one()
        return _VALUE

    begin_stop(worker, meter)
    worker.run()


OUTPUT_PROGRAMS: dict[str, Callable[[str, str, str, Meter], None]] = {
    "loop with flush": loop_with_flush,
    "waits in 16 threads": waiting_threads,
    "output, 1 thread": one_thread,
}


if __name__ == "__main__":
    run_program(OUTPUT_PROGRAMS)
