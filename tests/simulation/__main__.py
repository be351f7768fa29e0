"""Run seeds by hand: `python -m tests.simulation [OPTION] [--trace] SEED [SEED…]`.

With the option `--classic`, `--consumer` or `--streams`, the world is that of a group of that type, with `--assignors`
that of a streams group whose task assignor changes, with `--transactional` that of transactional producers, with
`--application` that of a streams application, with `--at-least-once` that of one without transactions, with
`--truncated` that of one whose source loses records, with `--queries` that of one whose stores are read, with
`--classic-application` that of one in a classic group, with `--letters` that of a group with a dead-letter queue, with
`--workers` that of handler workers, with `--retry-topics` that of workers with retry topics. With `--trace`, every
event is written to the error stream. If two runs of a seed have different digests, the first line in which their traces
differ shows where.
"""

import argparse
import sys
from collections.abc import Callable

from kafka_groups.testing.simulation import SimulationReport
from tests.simulation.applications.counting import (
    run_classic_application,
    run_counting_world,
    run_counting_world_at_least_once,
)
from tests.simulation.applications.queries import run_queried_world
from tests.simulation.applications.truncated import run_truncated_world
from tests.simulation.classic.world import run_classic_world
from tests.simulation.consumer.world import run_consumer_world
from tests.simulation.dead_letters.letters_world import run_letters_world
from tests.simulation.retry_topics.retry_world import run_retry_world
from tests.simulation.streams.assignor_world import run_assignor_world
from tests.simulation.streams.world import run_streams_world
from tests.simulation.transactions.world import run_transactional_world
from tests.simulation.workers.world import run_workers_world
from tests.simulation.world import run_world

_MOST_SHOWN = 20
_OTHERS = {
    "application": ("a streams application that runs exactly once", run_counting_world),
    "assignors": ("a streams group whose assignor changes", run_assignor_world),
    "at-least-once": ("a streams application that runs at least once", run_counting_world_at_least_once),
    "classic": ("a classic group", run_classic_world),
    "classic-application": ("a streams application in a classic group", run_classic_application),
    "consumer": ("a consumer group", run_consumer_world),
    "letters": ("a group with a dead-letter queue", run_letters_world),
    "queries": ("a streams application whose stores are read", run_queried_world),
    "retry-topics": ("handler workers with retry topics", run_retry_world),
    "streams": ("a streams group", run_streams_world),
    "transactional": ("transactional producers", run_transactional_world),
    "truncated": ("a streams application whose source is truncated", run_truncated_world),
    "workers": ("handler workers", run_workers_world),
}


def main() -> int:
    """Run the seeds of the command line; 1 when one of them shows a violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Run seeds of the simulation.")
    parser.add_argument("seeds", metavar="SEED", type=int, nargs="+")
    parser.add_argument("--trace", action="store_true", help="write every event to the error stream")
    other = parser.add_mutually_exclusive_group()
    for name, (what, run) in _OTHERS.items():
        other.add_argument(f"--{name}", dest="run", action="store_const", const=run, help=f"run the world of {what}")
    parser.set_defaults(run=run_world)
    options = parser.parse_args()
    failed = [seed for seed in options.seeds if _run(options.run, seed, with_trace=options.trace)]
    return int(bool(failed))


def _run(run: Callable[..., SimulationReport], seed: int, *, with_trace: bool) -> bool:
    report = run(seed, sys.stderr.write) if with_trace else run(seed)
    print(f"seed {seed}: {report.produced} produced, {report.accepted} accepted, {dict(report.faults)}")  # noqa: T201
    print(f"  digest {report.digest}")  # noqa: T201
    for violation in report.violations[:_MOST_SHOWN]:
        print(f"  {violation}")  # noqa: T201
    return bool(report.violations)


if __name__ == "__main__":
    sys.exit(main())
