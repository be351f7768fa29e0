"""Run one seed again: `python -m tests.faults DESIGN SEED [SEED…] [--broker embedded|kafka]`."""

import argparse
import sys
from collections import Counter

from tests.faults.drivers import running_drivers
from tests.faults.harness import run_plan
from tests.faults.plan import BROKERS, DESIGNS, Kind, classes_of, draw
from tests.faults.report import table
from tests.faults.targets import running_target


def main() -> int:
    """Run the seeds of the command line; 1 when one of them shows a violation."""
    given = _arguments().parse_args()
    struck: Counter[Kind] = Counter()
    failed = False
    with running_drivers() as drivers, running_target(given.broker) as target:
        for seed in given.seeds:
            plan = draw(given.design, given.broker, seed)
            for fault in plan.faults:
                _say(f"  planned: {fault}")
            report = run_plan(plan, target, drivers)
            struck.update(report.struck)
            failed = failed or bool(report.violations)
            _say(report.line())
            for failure in report.failures:
                _say(f"  started again after {failure}")
    _say(table(struck, classes_of(given.design, given.broker)))
    return int(failed)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=main.__doc__)
    parser.add_argument("design", choices=DESIGNS)
    parser.add_argument("seeds", type=int, nargs="+", metavar="SEED")
    parser.add_argument("--broker", choices=BROKERS, default=BROKERS[0])
    return parser


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
