"""One worker makes the same of the same records in a driver and on an embedded cluster."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec
import pytest
from attrs import define, field, frozen

from kafka_groups import Backoff, Batch, Reject, Retry, ShareRecord, Worker, current_attempt, serdes
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster, Outcome, RawValue, WorkerTestDriver

# One process handles the records, for all tests of this module.
pytestmark = pytest.mark.xdist_group("driver_and_production")

GROUP = "shop"
DEAD = "dead"
SOON = Backoff(first=0.01, most=0.01, times=2)
A_WHILE_S = 60.0


class Job(msgspec.Struct, frozen=True):
    name: str


@define
class Calls:
    """The calls of the handlers: each value with the number of the attempt, and the names within a key in order."""

    attempts: Counter[str] = field(factory=Counter)
    numbers: defaultdict[str, list[int]] = field(factory=lambda: defaultdict(list))
    by_key: defaultdict[bytes, list[str]] = field(factory=lambda: defaultdict(list))
    batches: list[list[str]] = field(factory=list)


@frozen
class Made:
    """Everything that came of the records.

    Attributes:
        outcomes: Names of records by their outcome.
        letters: Keys, values and headers of dead letters.
        calls: The calls of handlers.
    """

    outcomes: dict[Outcome, set[bytes]]
    letters: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]]
    calls: Calls


def shop(bootstrap_servers: str, calls: Calls) -> Worker:
    """A worker with handlers of single records, of records by key, and of batches."""
    worker = Worker(GROUP, bootstrap_servers=bootstrap_servers)

    def note(name: str) -> int:
        calls.attempts[name] += 1
        calls.numbers[name].append(current_attempt().number)
        return calls.attempts[name]

    @worker.handler("single", value=serdes.json(Job), dead_letters=DEAD, retries=SOON, outages=(), concurrency=1)
    def single(job: Job) -> None:
        count = note(job.name)
        if job.name == "reject":
            raise Reject("not wanted")
        if job.name == "exhausted" or (job.name == "retry" and count < 2):
            raise ValueError(f"attempt of {job.name}")
        if job.name == "later" and count < 3:
            raise Retry("not yet", after=0.02)

    @worker.handler("keyed", value=serdes.json(Job), order_by="key", retries=SOON, outages=())
    async def keyed(job: Job, record: ShareRecord[bytes, Job]) -> None:
        assert record.key is not None
        calls.by_key[record.key].append(job.name)
        if note(job.name) == 1 and job.name == "a1":
            raise ValueError("not yet")

    @worker.batch_handler(
        "batched", value=serdes.json(Job), dead_letters=DEAD, retries=SOON, outages=(), max_records=5, max_wait=5
    )
    def batched(batch: Batch[Job]) -> None:
        calls.batches.append([job.name for job in batch])
        if any(job.name == "poison" for job in batch):
            raise ValueError("poison")

    return worker


Given = tuple[str, Sequence[Job | RawValue], Sequence[str | None]]
RECORDS: Sequence[Given] = [
    ("single", [Job("good"), Job("retry"), Job("reject"), Job("exhausted"), Job("later"), RawValue(b"{")], ["k"] * 6),
    ("keyed", [Job("a1"), Job("a2"), Job("b1"), Job("a3"), Job("b2")], ["a", "a", "b", "a", "b"]),
    ("batched", [Job("1"), Job("2"), Job("poison"), Job("4"), Job("5")], [None] * 5),
]
ACCEPTED = {b'{"name":"%s"}' % name for name in b"good retry later a1 a2 b1 a3 b2 1 2 4 5".split()}
REJECTED = {b'{"name":"reject"}', b'{"name":"exhausted"}', b"{", b'{"name":"poison"}'}


def value_of(given: Job | RawValue) -> bytes | None:
    return given.data if isinstance(given, RawValue) else msgspec.json.encode(given)


def made_in_a_driver() -> Made:
    """The results of a driver."""
    calls = Calls()
    outcomes: defaultdict[Outcome, set[bytes]] = defaultdict(set)
    with WorkerTestDriver(shop("localhost:9092", calls)) as test:
        deliveries = [
            delivery for topic, values, keys in RECORDS for delivery in test.deliver_batch(topic, values, keys=keys)
        ]
        test.advance(A_WHILE_S)
        for delivery in deliveries:
            assert delivery.outcome is not None
            outcomes[delivery.outcome].add(delivery.record.raw_value or b"")
        letters = [(letter.key, letter.value, letter.headers) for letter in test.dead_letters(DEAD)]
    return Made(dict(outcomes), sorted(letters, key=repr), calls)


def made_on_a_cluster() -> Made:
    """The results of the worker with its threads and loops."""
    calls = Calls()
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
        for topic in (DEAD, *(topic for topic, _, _ in RECORDS)):
            cluster.create_topic(topic)
        for topic, values, keys in RECORDS:
            cluster.produce(topic, [value_of(value) for value in values], keys=keys)
        with shop(cluster.bootstrap_servers, calls):
            group = cluster.group(GROUP)
            group.wait_until_accepted(len(ACCEPTED), timeout=30)
            group.wait_until_rejected(len(REJECTED), timeout=30)
        outcomes = {
            Outcome.ACCEPTED: {record.value or b"" for record in group.accepted},
            Outcome.REJECTED: {record.value or b"" for record in group.rejected},
        }
        letters = [(record.key, record.value, record.headers) for record in cluster.records(DEAD)]
        assert group.released == []
    return Made(outcomes, sorted(letters, key=repr), calls)


@pytest.fixture(scope="module")
def driven() -> Made:
    return made_in_a_driver()


@pytest.fixture(scope="module")
def real() -> Made:
    return made_on_a_cluster()


def test_outcomes_are_the_same(driven: Made, real: Made) -> None:
    assert driven.outcomes == real.outcomes == {Outcome.ACCEPTED: ACCEPTED, Outcome.REJECTED: REJECTED}


def test_dead_letters_are_the_same_with_their_headers(driven: Made, real: Made) -> None:
    assert {value for _, value, _ in driven.letters} == REJECTED
    assert driven.letters == real.letters


def test_handlers_are_called_as_often_and_with_the_same_numbers(driven: Made, real: Made) -> None:
    assert driven.calls.attempts == real.calls.attempts
    assert driven.calls.numbers == real.calls.numbers
    assert driven.calls.numbers["exhausted"] == [1, 2, 3]


def test_keys_keep_their_order(driven: Made, real: Made) -> None:
    assert driven.calls.by_key == real.calls.by_key == {b"a": ["a1", "a1", "a2", "a3"], b"b": ["b1", "b2"]}


def test_batches_are_halved_at_the_same_places(driven: Made, real: Made) -> None:
    assert driven.calls.batches == real.calls.batches
    assert driven.calls.batches[:4] == [["1", "2", "poison", "4", "5"], ["1", "2", "poison"], ["1", "2"], ["poison"]]
