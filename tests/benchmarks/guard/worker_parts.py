"""The part with handler workers. The programs are those of this checkout, with the package of each."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, Final

from tests.benchmarks.brokers import embedded
from tests.benchmarks.guard.broker_parts import Extent
from tests.benchmarks.guard.checkouts import Checkouts
from tests.benchmarks.guard.figures import Case, Row
from tests.benchmarks.guard.turns import Measure
from tests.benchmarks.processes import produce
from tests.benchmarks.topics import new_topic
from tests.benchmarks.workers import measures

__all__ = ["WORKERS", "workers"]

_PROCESSES: Final = "2 processes"
_PROCESS_COUNT, _SECONDS, _LEAST_SECONDS = 2, 2.0, 1.0
_RECORDS, _LEAST_RECORDS = 500_000, 30_000
_ASYNC: Final = "async def, 100"
_ASYNC_PART: Final = 0.4
"""Of the records, as it takes longer for each."""


def _case(kind: str, rounds: int, need: str) -> Case:
    rows = (
        Row(f"Worker, {kind}", "records/s", ("rate",)),
        Row(f"Worker, {kind}, CPU", "µs a record", ("cpu_us",), is_cost=True),
    )
    return Case(rows, rounds, (kind,), (need,))


WORKERS = (
    *(
        _case(kind, 5, "tests.benchmarks.workers.programs:PROGRAMS")
        for kind in ("def, 1 thread", "def, 16 threads", _ASYNC)
    ),
    _case("def, 16 threads, state_dir", 5, "kafka_groups.share.workers.processes.kept_notes:NotesInDirectory"),
    _case(_PROCESSES, 4, "tests.benchmarks.workers.spinning:SERVERS"),
)


@contextmanager
def workers(checkouts: Checkouts, extent: Extent) -> Iterator[Measure]:
    """An embedded broker of each checkout, with records; one worker at a time, whose handler only counts."""
    records, seconds = extent.of(_RECORDS, _LEAST_RECORDS), max(_LEAST_SECONDS, _SECONDS * extent.fraction)
    with ExitStack() as stack:

        @cache
        def filled(version: str) -> tuple[str, str]:
            servers = stack.enter_context(embedded(checkouts.of(version))).bootstrap_servers
            topic = new_topic(servers)
            produce(servers, topic, records, "large")
            return servers, topic

        def measure(case: Case, version: str) -> Mapping[str, Any]:
            checkout = checkouts.with_these_benchmarks(version, case.needs)
            (kind,) = case.arguments
            if kind == _PROCESSES:
                handled = measures.spinning_rate(*filled(version), _PROCESS_COUNT, seconds, 0.0, checkout)
            else:
                count = round(_ASYNC_PART * records) if kind == _ASYNC else records
                handled = measures.rate(*filled(version), kind, count, checkout)
            return {"rate": handled.per_second, "cpu_us": handled.cpu_us}

        yield measure
