"""Starts the process with Spark, and speaks with it."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from tests.benchmarks.spark_environment import ROOT, environment, interpreter, kafka_source_jars
from tests.benchmarks.spark_runs import MARK, Outcome, Run


class SparkProcess:
    """A session that runs queries; made by `spark_process`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout

    def outcome_of(self, run: Run) -> Outcome:
        """Run a query to its end."""
        print(json.dumps(attrs.asdict(run)), file=self._input, flush=True)
        for line in self._output:
            if line.startswith(MARK):
                return Outcome(**json.loads(line.removeprefix(MARK)))
        raise AssertionError(f"the process with Spark ended during {run}")


@contextmanager
def spark_process() -> Iterator[SparkProcess]:
    """A session in a process of its own; its environment is made if it is not there."""
    command = [str(interpreter()), "-m", "tests.benchmarks.spark_job", *map(str, kafka_source_jars())]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield SparkProcess(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()  # it then stops Spark and ends
