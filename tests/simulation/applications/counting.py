"""An application that counts words and lines, in virtual time, and what must be left of it.

Words pass a repartition topic, so their counts are 1, 2, 3 and so on, in whatever order they arrive. Lines are counted
in windows. Which of them are too late depends on the order in their partition alone, so a test driver that gets each
partition by itself says what must come out. At least once, no record may be left out.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Literal

from attrs import evolve

from kafka_groups import serdes
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.streams import EmitStrategy, SessionWindows, StreamsBuilder, Suppressed, TimeWindows, Topology
from kafka_groups.testing.clock import WALL_START_MS
from kafka_groups.testing.simulation import SeededFaults, SimulationReport
from kafka_groups.testing.simulation.streams.instance import Deployment
from kafka_groups.testing.simulation.streams.simulated_application import StreamsSimulation, simulate_streams
from kafka_groups.testing.topology_driver.topics import CapturedRecord
from kafka_groups.testing.topology_driver.topology_test_driver import TopologyTestDriver
from tests.simulation.applications.drawn_assignor import drawn_assignor
from tests.simulation.applications.drawn_config import draw_transaction_version, drawn_config
from tests.simulation.applications.named_states import NamedStates
from tests.simulation.reporting import report_of

Guarantee = Literal["at_least_once", "exactly_once_v2"]
DefaultStore = Literal["in_memory", "lmdb"]

__all__ = [
    "missing_results",
    "run_classic_application",
    "run_counting_world",
    "run_counting_world_at_least_once",
]

PARTITIONS = 2
FAULTS = SeededFaults(
    seconds=60, process_killed=3, process_stopped=1.5, coordinator_moved=3, leader_moved=2, broken_connection=2,
    producers_forgotten=1,
)  # fmt: skip
_WORDS = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu")
_KEYS = ("x", "y", "z")
_LINES = 100
_BEGIN_MS, _STEP_MS = WALL_START_MS, 700
_SIZE, _GRACE = timedelta(seconds=10), timedelta(seconds=5)
_GROUPS: Mapping[str, Mapping[str, object]] = {
    "streams": {},
    "classic": {
        "group.protocol": "classic",
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 1_000,
        # A JoinGroup whose answer was lost waits as long as that.
        "max.poll.interval.ms": 30_000,
    },
}
_SETTINGS = {"group.min.session.timeout.ms": 1_000, "group.initial.rebalance.delay.ms": 100}
ENDLESS_MS, PURGE_MS = 1 << 40, 30_000
_REPARTITIONED = "counting-words-repartition"
_OF_LINES = ("by-time", "final", "on-close", "by-session")
"""Topics whose records follow from the lines of one partition alone."""
_IN_GRACE_MS, _TOO_LATE_MS = 4_000, 30_000


def build() -> Topology:
    """Return the topology."""
    builder = StreamsBuilder()
    lines = builder.stream("lines", key=serdes.string, value=serdes.string)
    words = lines.flat_map(lambda _key, text: [(word, word) for word in text.split()])
    counts = words.group_by_key(key=serdes.string, value=serdes.string).count(store="words", caching=False)
    counts.to_stream().to("counts", key=serdes.string, value=serdes.int64)
    by_key, windowed = lines.group_by_key(), serdes.time_windowed(serdes.string, _SIZE)
    windows = by_key.windowed_by(TimeWindows(_SIZE, grace=_GRACE))
    by_time = windows.count(store="lines-by-time", caching=False)
    by_time.to_stream().to("by-time", key=windowed, value=serdes.int64)
    final = by_time.suppress(Suppressed.until_window_closes(), name="final")
    final.to_stream().to("final", key=windowed, value=serdes.int64)
    closed = windows.emit_strategy(EmitStrategy.on_window_close()).count(store="lines-on-close")
    closed.to_stream().to("on-close", key=windowed, value=serdes.int64)
    sessions = by_key.windowed_by(SessionWindows(timedelta(seconds=3), grace=_GRACE)).count(
        store="sessions", caching=False
    )
    sessions.to_stream().to("by-session", key=serdes.session_windowed(serdes.string), value=serdes.int64)
    return builder.build()


def lines_of(seed: int) -> list[tuple[str, str, int]]:
    """Return the lines: most of them in order, some late, and some later than the grace of their windows."""
    rng = random.Random(f"{seed}/lines")
    late_ms = (0, 0, 0, 0, _IN_GRACE_MS, _TOO_LATE_MS)
    return [
        (rng.choice(_KEYS), " ".join(rng.choices(_WORDS, k=2)), _BEGIN_MS + number * _STEP_MS - rng.choice(late_ms))
        for number in range(_LINES)
    ]


def run_counting_world(
    seed: int,
    write_event: Callable[[str], object] = lambda _line: None,
    guarantee: Guarantee = "exactly_once_v2",
    default_store: DefaultStore | None = None,
    *,
    promised: Guarantee | None = None,
    protocol: Literal["streams", "classic"] = "streams",
    assignor: Mapping[str, object] = MappingProxyType({}),
    workers: int = 1,
    named: NamedStates | None = None,
) -> SimulationReport:
    """Run one seed; each event is also written as a line.

    Args:
        seed: The seed.
        write_event: Called with a line for each event.
        guarantee: The guarantee of the application.
        default_store: Where it keeps its stores. None: odd seeds on disk, even ones in memory.
        promised: The guarantee that its results are held against. None: its own.
        protocol: The protocol of its group.
        assignor: Who assigns the tasks of a classic group, as configuration.
        workers: The workers of each process.
        named: Follows what its members tell the leaders of a classic group.
    """
    store: DefaultStore = default_store or ("lmdb" if seed % 2 else "in_memory")
    lines = lines_of(seed)
    found: list[str] = []

    async def watch(deployment: Deployment, _over: asyncio.Event) -> list[str]:
        if named is not None:
            deployment.world.tap.watch((ApiKey.JOIN_GROUP,), named)
        await draw_transaction_version(seed, deployment)
        return []

    def run() -> SimulationReport:
        left = simulate_streams(
            build, {"lines": lines}, seed, faults=FAULTS, partitions=PARTITIONS, write_event=write_event,
            application_id="counting", commit_interval_ms=400, poll_ms=400, processing_guarantee=guarantee,
            default_dsl_store=store, config={**drawn_config(seed), **_GROUPS[protocol], **assignor}, watch=watch,
            settings=_SETTINGS, workers=workers,
            repartition_purge_interval_ms=ENDLESS_MS if guarantee == "at_least_once" else PURGE_MS,
        )  # fmt: skip
        found.extend(_wrong_lines(left, lines))
        wrong = _wrong_results if (promised or guarantee) == "exactly_once_v2" else missing_results
        found.extend(wrong(left))
        return left.report

    report = report_of(run)
    found += named.violations if named is not None else []
    return evolve(report, violations=(*report.violations, *found))


run_counting_world_at_least_once = partial(run_counting_world, guarantee="at_least_once")


def run_classic_application(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed in a classic group: exactly once if it is odd."""
    guarantee: Guarantee = "exactly_once_v2" if seed % 2 else "at_least_once"
    return run_counting_world(seed, write_event, guarantee, protocol="classic", assignor=drawn_assignor(seed))


def _wrong_lines(left: StreamsSimulation, lines: list[tuple[str, str, int]]) -> Iterator[str]:
    """Yield what the producer of the lines has lost, repeated or written in another order."""
    placed = [[each.timestamp_ms for each in _of(left.topics, "lines", partition)] for partition in range(PARTITIONS)]
    order = {time_ms: number for number, (_key, _text, time_ms) in enumerate(lines)}
    missing = order.keys() - {time_ms for each in placed for time_ms in each}
    if missing:
        yield f"lines of {sorted(missing)} were not written"
    for partition, times in enumerate(placed):
        firsts = [order[each] for each in dict.fromkeys(times)]
        if firsts != sorted(firsts):
            yield f"the lines of partition {partition} were written in the order {firsts}"
        # A broker that has forgotten the producer takes a batch again that it has.
        if len(times) > len(firsts) and not left.report.faults["producers_forgotten"]:
            yield f"partition {partition} has {len(times)} lines, of which {len(firsts)} are different"


def _totals(left: StreamsSimulation) -> Counter[str]:
    lines = left.output("lines", serdes.string, serdes.string)
    return Counter(word for line in lines for word in line.value.split())


def _results(left: StreamsSimulation) -> Mapping[str, list[int]]:
    results: defaultdict[str, list[int]] = defaultdict(list)
    for record in left.output("counts", serdes.string, serdes.int64):
        results[record.key].append(record.value)
    return results


def missing_results(left: StreamsSimulation) -> Iterator[str]:
    """Yield words and counts that were not written, at least once.

    Their values prove nothing. A process that was cut off may write to a changelog after its successor, as nothing
    fences it, and a store that is restored from there has an older count.
    """
    words = Counter(each.value for each in left.output(_REPARTITIONED, serdes.string, serdes.string))
    counts = {word: len(values) for word, values in _results(left).items()}
    for word, total in sorted(_totals(left).items()):
        if words[word] < total:
            yield f"{word} occurs {total} times, and was passed on {words[word]} times"
    for word, total in sorted(words.items()):
        if counts.get(word, 0) < total:
            yield f"{word} was passed on {total} times, and has {counts.get(word, 0)} counts"


def _wrong_results(left: StreamsSimulation) -> Iterator[str]:
    """Yield what is not as a computation says, exactly once."""
    totals, results = _totals(left), _results(left)
    for word, total in sorted(totals.items()):
        if results[word] != [*range(1, total + 1)]:
            yield f"the counts of {word}, which occurs {total} times, are {results[word]}"
    if left.stores["words"] != totals:
        yield f"the store has {left.stores['words']}, and there are {dict(totals)}"
    for partition in range(PARTITIONS):
        wanted = _computed(_of(left.topics, "lines", partition))
        for topic in _OF_LINES:
            got = _of(left.topics, topic, partition)
            if got != wanted[topic]:
                yield f"{topic}-{partition} has {got}, and not {wanted[topic]}"


def _of(topics: Mapping[str, tuple[CapturedRecord, ...]], topic: str, partition: int) -> list[CapturedRecord]:
    return [record for record in topics.get(topic, ()) if record.partition == partition]


def _computed(lines: list[CapturedRecord]) -> dict[str, list[CapturedRecord]]:
    """Return what a driver makes of the lines of one partition."""
    partition = lines[0].partition if lines else 0
    with TopologyTestDriver(build()) as driver:
        topic = driver.input_topic("lines", serdes.bytes_, serdes.bytes_)
        for line in lines:
            topic.pipe(line.key, line.value, timestamp_ms=line.timestamp_ms)
        return {topic: [each._replace(partition=partition) for each in driver.records(topic)] for topic in _OF_LINES}
