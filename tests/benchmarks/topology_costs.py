"""What topologies cost before and beside their operators: a chain of functions, a driver, an import."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, Topology
from kafka_groups.streams.processors.stateless import MapValues
from kafka_groups.streams.topology.nodes import NodeStep
from kafka_groups.testing.topology_driver import TopologyTestDriver
from tests.benchmarks.footprint import measured

__all__ = ["chain_ratio", "driver_ms", "import_ms"]

FUNCTIONS: Final[Sequence[Callable[[int], int]]] = (
    lambda number: number + 1,
    lambda number: number * 3,
    lambda number: number - 2,
    lambda number: number ^ 5,
)
_STREAMS: Final = "from kafka_groups.streams import StreamsBuilder, Topology"


class _Place:
    """The services of a task that an operator of a chain uses."""

    def __init__(self, forward: NodeStep) -> None:
        self.forward = forward

    def failed(self, error: Exception, *_record: Any) -> None:
        """Fail: the functions of the chain don't."""
        raise error


def chain_ratio(records: int, rounds: int) -> float:
    """The time of four `map_values` as a task runs them, in parts of that of a loop over the functions; median."""
    return statistics.median(_chain_ratio(records) for _ in range(rounds))


def driver_ms(rounds: int) -> float:
    """Milliseconds of a processor in which a driver of a topology is made that is built already; median."""
    topology = _counting()
    return statistics.median(_timed(lambda: TopologyTestDriver(topology)) * 1e3 for _ in range(rounds))


def import_ms(rounds: int) -> float:
    """Milliseconds of a processor in which a fresh interpreter imports what topologies are written with; median."""
    return measured(_STREAMS, rounds)[0] * 1e3


def _chain_ratio(records: int) -> float:
    taken: list[int] = []
    step = _chain(lambda _key, value, _timestamp_ms, _headers: taken.append(value))
    numbers = range(records)
    chained = _timed(lambda: _each(step, numbers))
    expected: list[int] = []
    looped = _timed(lambda: _loop(numbers, expected.append))
    assert taken == expected
    return chained / looped


def _chain(last: NodeStep) -> NodeStep:
    step = last
    for function in reversed(FUNCTIONS):
        step = MapValues(function).open(_Place(step))  # type: ignore[arg-type]
    return step


def _each(step: NodeStep, numbers: Sequence[int]) -> None:
    for number in numbers:
        step("key", number, 0, ())


def _loop(numbers: Sequence[int], take: Callable[[int], None]) -> None:
    for number in numbers:
        value = number
        for function in FUNCTIONS:
            value = function(value)
        take(value)


def _counting() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string)
    words.group_by_key().count(store="counts").to_stream().to("counted")
    return builder.build()


def _timed(work: Callable[[], object]) -> float:
    begun = time.thread_time()
    work()
    return time.thread_time() - begun
