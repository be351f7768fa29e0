"""Run seeds: `PYTHONPATH=examples python -m tests.chaos SEED [SEED…] [--broker embedded|kafka] [--seconds 120]`."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos.harness import Chaos, running_broker
from tests.chaos.plan import Plan


def main() -> int:
    """Run the seeds of the command line; 1 if one of them miscounts."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=main.__doc__)
    parser.add_argument("seeds", type=int, nargs="+", metavar="SEED")
    parser.add_argument("--broker", choices=("embedded", "kafka"), default="embedded")
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    failed = False
    with running_broker(given.broker) as servers:
        for seed in given.seeds:
            with tempfile.TemporaryDirectory() as directory:
                report = Chaos(Plan(seed, given.broker, given.seconds), servers, Path(directory)).run()
            sys.stdout.write(f"{report}\n")
            failed = failed or not report.is_exact
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
