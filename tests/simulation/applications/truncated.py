"""The counting application while its source loses records in unclean elections: all that is left is counted.

Other topics are spared, so results tell what was processed. What the source has lost may be counted or not.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from attrs import define, evolve, field

from kafka_groups import serdes
from kafka_groups.testing.simulation import SimulationReport
from kafka_groups.testing.simulation.checks.visible import visible_records
from kafka_groups.testing.simulation.streams.instance import Deployment
from kafka_groups.testing.simulation.streams.simulated_application import StreamsSimulation, simulate_streams
from tests.simulation.applications.counting import (
    ENDLESS_MS,
    FAULTS,
    PARTITIONS,
    PURGE_MS,
    Guarantee,
    build,
    lines_of,
    missing_results,
)
from tests.simulation.applications.drawn_config import draw_transaction_version, drawn_config
from tests.simulation.reporting import report_of

__all__ = ["run_truncated_world", "run_truncated_world_at_least_once"]

_SOURCE = "lines"
_PAUSE_S, _MOST_LOST = (3.0, 20.0), 6


@define(eq=False)
class _Truncating:
    """Truncates the source now and then, and notes what it loses."""

    seed: int
    lost: Counter[str] = field(factory=Counter)

    async def __call__(self, deployment: Deployment, _over: asyncio.Event) -> list[str]:
        version = asyncio.create_task(draw_transaction_version(self.seed, deployment))
        await self._truncate_often(deployment)
        await version
        return []

    async def _truncate_often(self, deployment: Deployment) -> None:
        world, rng = deployment.world, random.Random(f"{self.seed}/truncations")
        while True:
            await asyncio.sleep(rng.uniform(*_PAUSE_S))
            if not world.is_faulty:
                return
            self._truncate(deployment, rng)

    def _truncate(self, deployment: Deployment, rng: random.Random) -> None:
        cluster, struck = deployment.world.cluster, deployment.world.struck
        topic, partition = cluster.metadata.topic(_SOURCE), rng.randrange(PARTITIONS)
        assert topic is not None
        log = cluster.logs.get(topic.topic_id, partition)
        records = list(visible_records(log))
        end_offset = max(log.end_offset - rng.randint(1, _MOST_LOST), log.log_start_offset)
        if end_offset < log.end_offset:
            end = cluster.elect_unclean_leader(
                _SOURCE, partition, rng.choice(cluster.running_brokers), end_offset=end_offset
            )
            struck["source truncated"] += 1
            self.lost.update(_words(each.value for each in records if each.offset >= end))


def run_truncated_world(
    seed: int,
    write_event: Callable[[str], object] = lambda _line: None,
    guarantee: Guarantee = "exactly_once_v2",
) -> SimulationReport:
    """Run one seed; each event is also written as a line.

    Args:
        seed: The seed.
        write_event: Called with a line for each event.
        guarantee: The guarantee of the application.
    """
    truncating = _Truncating(seed)
    found: list[str] = []

    def run() -> SimulationReport:
        left = simulate_streams(
            build, {_SOURCE: lines_of(seed)}, seed, faults=FAULTS, partitions=PARTITIONS, write_event=write_event,
            watch=truncating, application_id="counting", commit_interval_ms=400, poll_ms=400,
            processing_guarantee=guarantee, config=drawn_config(seed),
            default_dsl_store="lmdb" if seed % 2 else "in_memory",
            repartition_purge_interval_ms=ENDLESS_MS if guarantee == "at_least_once" else PURGE_MS,
        )  # fmt: skip
        is_exactly_once = guarantee == "exactly_once_v2"
        found.extend(_wrong_counts(left, truncating.lost) if is_exactly_once else missing_results(left))
        return left.report

    report = report_of(run)
    return evolve(report, violations=(*report.violations, *found))


run_truncated_world_at_least_once = partial(run_truncated_world, guarantee="at_least_once")


def _wrong_counts(left: StreamsSimulation, lost: Counter[str]) -> Iterator[str]:
    """Yield words that were counted too rarely, or more often than they were there."""
    totals = _words(line.value.encode() for line in left.output(_SOURCE, serdes.string, serdes.string))
    counts = left.stores["words"]
    for word in sorted(totals.keys() | counts.keys()):
        least, count = totals[word], counts.get(word, 0)
        if not least <= count <= least + lost[word]:
            yield f"{word} occurs {least} times and was lost {lost[word]} times, and the store has {count}"


def _words(values: Iterator[bytes | None]) -> Counter[str]:
    return Counter(word for value in values for word in (value or b"").decode().split())
