"""How long topologies take for a record in our driver and in Java's, with the same records, in turns.

What is timed is the way of records through the driver, from bytes to bytes, with all stores and changelogs: neither
making a driver nor the JSON in which Java gets its records.
"""

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from attrs import frozen

from kafka_groups.testing.topology_driver import TopologyTestDriver
from tests.support.kafka.kafka_classpath import driver_classpath
from tests.topologies.catalogue import TWINS
from tests.topologies.oracle import CACHED, JavaOracle
from tests.topologies.scripts import Pipe, Script

__all__ = ["JUDGED", "OTHERS", "Compared", "Extent", "Took", "compared", "records_for", "run_of_ours"]

JUDGED: Final[Mapping[str, str]] = {
    "chain": "seven stateless operators",
    "count": "count",
    "tumbling_count": "count by windows",
    "session_count": "count by sessions",
    "stream_join": "join of two streams",
    "table_join": "join of two tables",
}
"""The topologies whose median counts, by their names in the catalogue."""
OTHERS: Final[Mapping[str, str]] = {
    "filter": "one stateless operator",
    "process": "a processor of the user's",
    "aggregate": "aggregate of texts",
    "hopping_count": "count by hopping windows",
    "stream_outer_join_grace": "outer join of two streams",
    "stream_table_join": "join of a stream and a table",
    "foreign_key_join": "join by a foreign key",
    "suppress_tumbling": "windows that wait until they close",
}

_KEYS: Final = tuple(f"key-{number}".encode() for number in range(20))
_TEXTS: Final = (b"apple", b"ab", b"b", b"bad", b"cab dab", b"d e a", b"c", b"dad bad add", b"abc")
_MOST_FORWARDS_MS, _MOST_BACKWARDS_MS, _LATE = 4, 30, 0.1


@frozen
class Extent:
    """How much is measured.

    Attributes:
        records: Records of a run.
        rounds: Runs of each side that count.
        warm_up: Runs of all topologies before any of them.
    """

    records: int
    rounds: int
    warm_up: int


@frozen
class Took:
    """What a run took.

    Attributes:
        elapsed_us: Microseconds for a record.
        processor_us: Microseconds of a processor for a record.
    """

    elapsed_us: float
    processor_us: float


@frozen
class Compared:
    """The runs of one topology, each side's in the order in which they took turns."""

    name: str
    ours: Sequence[Took]
    java: Sequence[Took]

    @property
    def ratio(self) -> float:
        """Our time for a record in parts of Java's; medians."""
        return _median(self.ours, _elapsed) / _median(self.java, _elapsed)

    @property
    def processor_ratio(self) -> float:
        """The same of processor time."""
        return _median(self.ours, _processor) / _median(self.java, _processor)

    @property
    def our_us(self) -> float:
        """Our microseconds for a record, median."""
        return _median(self.ours, _elapsed)

    @property
    def java_us(self) -> float:
        """Java's microseconds for a record, median."""
        return _median(self.java, _elapsed)


def compared(
    names: Sequence[str], extent: Extent, say: Callable[[str], None], *, quick_start: bool = False
) -> list[Compared]:
    """Run all topologies until they are warm, and then each in turns.

    Args:
        names: The topologies.
        extent: How much is measured.
        say: Gets a line for each topology.
        quick_start: Whether Java's compiler optimises little, as in tests. Otherwise it may go on as it likes.
    """
    with _oracle(quick_start=quick_start) as oracle:
        scripts = {name: records_for(oracle.describe(name).inputs, extent.records) for name in names}
        for _ in range(extent.warm_up):
            for name, script in scripts.items():
                _turn(oracle, name, script)
        return [_compared(oracle, name, script, extent, say) for name, script in scripts.items()]


def _oracle(*, quick_start: bool) -> JavaOracle:
    classpath = driver_classpath()
    return JavaOracle(classpath) if quick_start else JavaOracle(classpath, options=())


def records_for(inputs: Sequence[str], count: int) -> Script:
    """Records for the topics in turn: 20 keys, texts, times that go on by 2 ms on average, a tenth of them late."""
    rng, now_ms = random.Random(1), 10_000
    records = []
    for number in range(count):
        now_ms += rng.randint(0, _MOST_FORWARDS_MS)
        late_ms = rng.randint(0, _MOST_BACKWARDS_MS) if rng.random() < _LATE else 0
        topic = inputs[number % len(inputs)]
        records.append(Pipe(topic, rng.choice(_KEYS), rng.choice(_TEXTS), now_ms - late_ms))
    return records


def run_of_ours(name: str, script: Script) -> tuple[Took, int]:
    """Run a topology in our driver. Return what it took, and the number of records that it wrote."""
    driver = TopologyTestDriver(TWINS[name].build(), application_id="app")
    pipes = [(each.topic, each.key, each.value, each.timestamp_ms, (), 0) for each in script if isinstance(each, Pipe)]
    pipe = driver._pipe
    gc.collect()
    begun, begun_processor = time.perf_counter(), time.thread_time()
    for record in pipes:
        pipe(*record)
    elapsed, processor = time.perf_counter() - begun, time.thread_time() - begun_processor
    written = sum(len(driver.records(topic)) for topic in driver.topics)
    return _per_record(elapsed, processor, len(pipes)), written


def _compared(oracle: JavaOracle, name: str, script: Script, extent: Extent, say: Callable[[str], None]) -> Compared:
    ours, java = zip(*(_turn(oracle, name, script) for _ in range(extent.rounds)), strict=True)
    found = Compared(name, ours, java)
    say(
        f"{name}: {found.our_us:.1f} us a record, {found.java_us:.1f} in Java, ratio {found.ratio:.2f}, of processor "
        f"times {found.processor_ratio:.2f}"
    )
    return found


def _turn(oracle: JavaOracle, name: str, script: Script) -> tuple[Took, Took]:
    """Run a topology once on each side."""
    run = oracle.run(name, script, CACHED)
    took, written = run_of_ours(name, script)
    assert run.failed_step is None, run.error
    assert written == len(run.outputs), f"{name}: {written} records from ours, {len(run.outputs)} from Java's"
    return took, _per_record(run.elapsed_ns / 1e9, run.processor_ns / 1e9, len(script))


def _per_record(elapsed_s: float, processor_s: float, records: int) -> Took:
    return Took(elapsed_s * 1e6 / records, processor_s * 1e6 / records)


def _elapsed(took: Took) -> float:
    return took.elapsed_us


def _processor(took: Took) -> float:
    return took.processor_us


def _median(runs: Sequence[Took], figure: Callable[[Took], float]) -> float:
    return statistics.median(figure(each) for each in runs)
