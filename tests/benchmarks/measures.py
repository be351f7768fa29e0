"""The measures: each interleaves what it compares, round after round, so that both meet the same machine."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from attrs import evolve, field, frozen

from tests.benchmarks.consumers import Outcome, Task
from tests.benchmarks.processes import consumed, consuming, produce
from tests.benchmarks.topics import PARTITIONS, new_group, new_topic

Say = Callable[[str], None]

BEFORE = "before"
"""Our client in another checkout of this project."""


@frozen
class ClientRounds:
    """What one client took, over all rounds of one case."""

    outcomes: list[Outcome] = field(factory=list)

    @property
    def records_per_second(self) -> float:
        """Median over the rounds."""
        return median(o.records / o.seconds for o in self.outcomes)

    @property
    def cpu_us_per_record(self) -> float:
        """Median over the rounds, in microseconds."""
        return median(o.cpu_seconds / o.records * 1e6 for o in self.outcomes)

    @property
    def poll_p50_ms(self) -> float:
        """Median over the rounds."""
        return median(o.poll_p50_ms for o in self.outcomes)

    @property
    def poll_p99_ms(self) -> float:
        """Median over the rounds."""
        return median(o.poll_p99_ms for o in self.outcomes)

    @property
    def records_per_poll(self) -> float:
        """Median over the rounds."""
        return median(o.records / o.polls for o in self.outcomes)


@frozen
class Comparison:
    """Our client against another in one case: confluent-kafka's, or ours in an earlier version."""

    target: str
    batches: str
    mode: str
    ours: ClientRounds = field(factory=ClientRounds)
    theirs: ClientRounds = field(factory=ClientRounds)

    def __str__(self) -> str:
        return f"{self.target} {self.batches} {self.mode}"

    def of(self, client: str) -> ClientRounds:
        """The figures of one of the two clients."""
        return self.ours if client == "ours" else self.theirs

    @property
    def rate_ratio(self) -> float:
        """Records per second, ours over theirs: the median of the rounds' own ratios."""
        pairs = zip(self.ours.outcomes, self.theirs.outcomes, strict=True)
        return median((a.records / a.seconds) / (b.records / b.seconds) for a, b in pairs)

    @property
    def cpu_ratio(self) -> float:
        """CPU time per record, ours over theirs: the median of the rounds' own ratios."""
        pairs = zip(self.ours.outcomes, self.theirs.outcomes, strict=True)
        return median((a.cpu_seconds / a.records) / (b.cpu_seconds / b.records) for a, b in pairs)


@frozen
class Extent:
    """How much is measured: records of each run, rounds that count, and rounds before them that do not.

    A Java virtual machine compiles what it runs often, so the first rounds on a fresh broker say little.

    Attributes:
        checkout: Another checkout of this project, whose client takes the place of confluent-kafka's.
        opponent_keys: More configuration keys for confluent-kafka's client.
    """

    records: int
    rounds: int
    warm_up_rounds: int = 0
    checkout: Path | None = None
    opponent_keys: Mapping[str, Any] = field(factory=dict)

    @property
    def clients(self) -> tuple[str, str]:
        """The two that are compared."""
        return ("ours", BEFORE if self.checkout else "confluent")


def compare(bootstrap_servers: str, cases: Sequence[Comparison], batches: str, extent: Extent, say: Say) -> None:
    """Both clients consume the same topic, by turns; after one run of each that is not counted."""
    records, topic = extent.records, new_topic(bootstrap_servers)
    produce(bootstrap_servers, topic, records, batches)
    for client in extent.clients * extent.warm_up_rounds:
        _run(client, "implicit", bootstrap_servers, topic, extent)
    for number in range(extent.rounds):
        for case in cases:
            for client in extent.clients if number % 2 == 0 else reversed(extent.clients):
                outcome = _run(client, case.mode, bootstrap_servers, topic, extent)
                case.of(client).outcomes.append(outcome)
                say(_line(f"{case} {client}", outcome))


def end_to_end(bootstrap_servers: str, batches: str, extent: Extent, say: Say) -> list[float]:
    """Records per second from the first one produced to the last one read, both going on at the same time."""
    rates = []
    for _ in range(extent.rounds):
        records, seconds = through_broker(bootstrap_servers, new_topic(bootstrap_servers), extent.records, batches)
        rates.append(records / seconds)
        say(f"end to end {batches}: {rates[-1] / 1e3:.0f} k records/s")
    return rates


def through_broker(
    bootstrap_servers: str, topic: str, records: int, batches: str, checkout: Path | None = None
) -> tuple[int, float]:
    """Produce and consume at the same time: the records, and the seconds from the first produced to the last read."""
    produce(bootstrap_servers, topic, PARTITIONS, batches)  # so that the consumer can say when it is there
    with consuming(task_of("ours", "implicit", bootstrap_servers, topic, records), checkout) as consumer:
        consumer.wait_until_ready()
        began = produce(bootstrap_servers, topic, records, batches)
        outcome = consumer.outcome()
    return outcome.records, outcome.ended_monotonic - began


@frozen
class Memory:
    """Largest resident memory of our client after a tenth of the records, and after all of them."""

    records: int
    bytes_at_tenth: int
    bytes_at_end: int

    @property
    def ratio(self) -> float:
        """How much it grew in the later nine tenths."""
        return self.bytes_at_end / self.bytes_at_tenth


def memory(bootstrap_servers: str, batches: str, records: int) -> Memory:
    """How the client's memory grows while it reads so many records."""
    topic = new_topic(bootstrap_servers)
    produce(bootstrap_servers, topic, records, batches)
    resident = _run("ours", "implicit", bootstrap_servers, topic, Extent(records, 1)).resident_bytes
    tenth = max(1, len(resident) // 10)
    return Memory(records, max(resident[: tenth + 1]), max(resident))


def _run(client: str, mode: str, bootstrap_servers: str, topic: str, extent: Extent) -> Outcome:
    task = task_of(client, mode, bootstrap_servers, topic, extent.records)
    if client == BEFORE:
        return consumed(evolve(task, client="ours"), extent.checkout)
    return consumed(evolve(task, keys=extent.opponent_keys) if client == "confluent" else task)


def task_of(client: str, mode: str, bootstrap_servers: str, topic: str, records: int) -> Task:
    """What a consumer with a group of its own is to do."""
    return Task(
        client=client,
        mode=mode,
        bootstrap_servers=bootstrap_servers,
        topic=topic,
        group_id=new_group(bootstrap_servers),
        records=records,
    )


def _line(what: str, outcome: Outcome) -> str:
    rate, cpu_us = outcome.records / outcome.seconds, outcome.cpu_seconds / outcome.records * 1e6
    return f"{what}: {rate / 1e3:.0f} k records/s, {cpu_us:.2f} us CPU a record, {outcome.polls} polls"
