"""Run seeds by hand: `python -m tests.simulation SEED [SEED…]`."""

import sys

from tests.simulation.world import run_world


def main() -> int:
    """Run the seeds of the command line; 1 when one of them shows a violation."""
    failed = False
    for seed in map(int, sys.argv[1:]):
        report = run_world(seed)
        failed = failed or bool(report.violations)
        print(f"seed {seed}: {report.produced} produced, {report.accepted} accepted, {dict(report.faults)}")  # noqa: T201
        for violation in report.violations:
            print(f"  {violation}")  # noqa: T201
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
