"""Run seeds by hand: `python -m tests.simulation [--trace] SEED [SEED…]`.

With `--trace`, every event is written to the error stream. If two runs of a seed have different digests, the first line
in which their traces differ shows where.
"""

import argparse
import sys

from tests.simulation.world import run_world


def main() -> int:
    """Run the seeds of the command line; 1 when one of them shows a violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Run seeds of the simulation.")
    parser.add_argument("seeds", metavar="SEED", type=int, nargs="+")
    parser.add_argument("--trace", action="store_true", help="write every event to the error stream")
    options = parser.parse_args()
    failed = [seed for seed in options.seeds if _run(seed, with_trace=options.trace)]
    return int(bool(failed))


def _run(seed: int, *, with_trace: bool) -> bool:
    report = run_world(seed, sys.stderr.write) if with_trace else run_world(seed)
    print(f"seed {seed}: {report.produced} produced, {report.accepted} accepted, {dict(report.faults)}")  # noqa: T201
    print(f"  digest {report.digest}")  # noqa: T201
    for violation in report.violations:
        print(f"  {violation}")  # noqa: T201
    return bool(report.violations)


if __name__ == "__main__":
    sys.exit(main())
