"""Starts the process with Spark, and speaks with it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.children import Child, child
from tests.benchmarks.spark_environment import ROOT, environment, interpreter, kafka_source_jars
from tests.benchmarks.spark_runs import MARK, Outcome, Run, as_message

_LONGEST_S = 3_600.0


class SparkProcess:
    """A session that runs queries; made by `spark_process`."""

    def __init__(self, running: Child) -> None:
        self._running = running

    def outcome_of(self, run: Run) -> Outcome:
        """Run a query to its end."""
        self._running.tell(json.dumps(as_message(run)))
        while line := self._running.line():
            if line.startswith(MARK):
                return Outcome(**json.loads(line.removeprefix(MARK)))
        raise self._running.failed(f"the process with Spark ended during {run}")


@contextmanager
def spark_process(checkout: Path = ROOT) -> Iterator[SparkProcess]:
    """A session in a process of its own, with the modules of a checkout; its environment is made if it is not there."""
    command = [str(interpreter()), "-m", "tests.benchmarks.spark_job", *map(str, kafka_source_jars())]
    with child(command, checkout, environment(), _LONGEST_S) as running:
        try:
            yield SparkProcess(running)
        finally:
            running.close_input()  # it then stops Spark and ends
