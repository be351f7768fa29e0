"""Runs of a worker with three handlers in one process, which records of the first one end again and again."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen
from confluent_kafka import Producer

from kafka_groups.net.clock import SystemClock
from tests.support.conditions import wait_until
from tests.support.workers.three_handlers import EXITS, GOOD, KILLS, DoneRecord, ThreeHandlerSettings, done_in
from tests.support.workers.worker_brokers import Place, WorkerBroker, WrittenDeadLetter
from tests.support.workers.worker_fleet import WorkerFleet

__all__ = ["HANDLERS", "ThreeHandlerRecords", "run_three_handlers", "summary", "violations"]

HANDLERS, PARTITIONS = 3, 2
DELIVERY_LIMIT = 5
_GROUP = {
    "share.record.lock.duration.ms": "6000",
    "share.session.timeout.ms": "3000",
    "share.delivery.count.limit": str(DELIVERY_LIMIT),
}
"""The locks and the members of a process that has ended are soon forgotten."""
_PATIENCE_S = 60.0


@frozen
class ThreeHandlerRecords:
    """All that is known after a run.

    Attributes:
        size: The number of records in each topic.
        poison: The records of the first topic that end the process.
        done: The ledger.
        letters: The dead letters of each topic.
        ends: How often the process ended with each status before it was stopped.
        seconds: How long the run took.
    """

    size: int
    poison: frozenset[Place]
    done: Sequence[DoneRecord]
    letters: Sequence[Sequence[WrittenDeadLetter]]
    ends: Mapping[int, int]
    seconds: float

    @property
    def places(self) -> Iterator[Place]:
        """The places of the records of a topic."""
        return map(_place, range(self.size))


def run_three_handlers(
    broker: WorkerBroker, directory: Path, *, size: int, poison: int, within_s: float, leaves_notes: bool = False
) -> ThreeHandlerRecords:
    """Write records, run the worker until all of them are done or archived, and stop it.

    Args:
        broker: The broker.
        directory: For the ledger and the log.
        size: The number of records in each of the three topics.
        poison: How many of those in the first topic end the process.
        within_s: The longest time that this may take.
        leaves_notes: Whether each process knows what its predecessor was running.
    """
    topics = [broker.new_topic(PARTITIONS) for _ in range(HANDLERS)]
    dead = [broker.new_topic().name for _ in range(HANDLERS)]
    group = broker.new_group(_GROUP)
    ledger = directory / "ledger"
    ledger.touch()
    numbers = [(2 * index + 1) * size // (2 * poison) for index in range(poison)]
    for topic in topics:
        _write(broker.servers, topic.name, size, numbers if topic is topics[0] else ())
    settings = ThreeHandlerSettings(
        broker.servers,
        group,
        [topic.name for topic in topics],
        dead,
        str(ledger),
        str(directory / "state") if leaves_notes else None,
    )
    command = ["-m", "tests.support.workers.three_handlers", settings.argument]
    clock = SystemClock()
    begun_ms = clock.now_ms()
    with WorkerFleet(command, 1, directory / "log") as fleet:
        wait_until(
            lambda: all(broker.lag(group, topic) == 0 for topic in topics),
            within_s,
            lambda: [broker.lag(group, topic) for topic in topics],
        )
        seconds = (clock.now_ms() - begun_ms) / 1000
        assert set(fleet.end()) == {0}, fleet.log_tail()
    letters = [broker.letters(name) for name in dead]
    places = frozenset(map(_place, numbers))
    return ThreeHandlerRecords(size, places, [*done_in(ledger)], letters, fleet.statuses, seconds)


def _place(number: int) -> Place:
    return number % PARTITIONS, number // PARTITIONS


def _write(servers: str, topic: str, size: int, poison: Sequence[int]) -> None:
    """Write the records of a topic. The producer keeps their order, so that their places are known."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 2})
    values = {number: KILLS if index % 2 else EXITS for index, number in enumerate(poison)}
    for number in range(size):
        while True:
            try:
                producer.produce(topic, values.get(number, GOOD), partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(_PATIENCE_S) == 0


# ------------------------------------------------------------------------------------------- verdict


def violations(records: ThreeHandlerRecords) -> list[str]:
    """Return what should not have happened; empty if all is well."""
    return [*_lost(records), *_done_twice(records), *_wrong_letters(records)]


def _lost(records: ThreeHandlerRecords) -> Iterator[str]:
    """Each record was done, or is a dead letter."""
    known = {(each.topic, each.place) for each in records.done}
    known |= {(topic, letter.place) for topic, letters in enumerate(records.letters) for letter in letters}
    for topic in range(HANDLERS):
        for place in records.places:
            if (topic, place) not in known:
                yield f"lost: {place} of topic {topic}"


def _done_twice(records: ThreeHandlerRecords) -> Iterator[str]:
    """A record is done again only if it was delivered again, and poison never is."""
    for each, count in Counter(records.done).items():
        if count > 1:
            yield f"done {count} times with one delivery: {each}"
        if each.topic == 0 and each.place in records.poison:
            yield f"done although it ends the process: {each}"


def _wrong_letters(records: ThreeHandlerRecords) -> Iterator[str]:
    """All copies are made before records are processed, as no handler gives any up."""
    for topic, letters in enumerate(records.letters):
        yield from (f"a record was given up: {letter} of topic {topic}" for letter in letters if not letter.is_early)


def summary(records: ThreeHandlerRecords) -> str:
    """Return a line of figures."""
    copied = [len({letter.place for letter in letters}) for letters in records.letters]
    again = len(records.done) - len({(each.topic, each.place) for each in records.done})
    return (
        f"{HANDLERS * records.size} records, {len(records.poison)} of them poison, in {records.seconds:.0f} s;"
        f" the process ended {dict(records.ends)}; done again {again};"
        f" records copied before processing, by handler: {copied}"
    )
