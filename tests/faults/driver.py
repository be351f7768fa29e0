"""The driver process: one Spark session, and one run after the other as it is told.

`python -m tests.faults.driver MASTER LOCAL_DIRECTORY` reads a job as a line of JSON and answers with a line when it
has ended. It ends when its standard input does: at once, if it runs a job that nobody waits for any more.
"""

import json
import logging
import os
import sys
import threading
import traceback
from queue import SimpleQueue
from typing import IO

from tests.faults.handling import Job
from tests.faults.pipelines import run_pipeline
from tests.support.spark.sessions import spark_session


def main() -> None:
    """Serve until there are no more jobs."""
    master, local_directory = sys.argv[1:]
    answers = _take_stdout()
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("kafka_groups").setLevel(logging.INFO)  # a run that fails shows the end of it
    configs = {
        "spark.local.dir": local_directory,
        "spark.task.maxFailures": "4",
        "spark.executor.memory": "600m",
        # In local mode a stage that runs again unregisters the block manager for good. From then on each heartbeat of
        # the executor fails, and after 60 of them, in ten minutes, it would end the JVM.
        "spark.executor.heartbeat.maxFailures": "1000000",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
    }
    with spark_session(master, configs) as spark:
        _say(answers, {"event": "ready"})
        jobs = _Jobs()
        while (line := jobs.next()) is not None:
            try:
                failures = run_pipeline(Job(**json.loads(line)), spark)
                _say(answers, {"event": "ended", "failures": failures})
            except Exception:  # reported: the harness judges the run by it
                _say(answers, {"event": "crashed", "trace": traceback.format_exc()})


class _Jobs:
    """Lines of standard input, read by a thread that sees its end while a job runs."""

    def __init__(self) -> None:
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._is_idle = threading.Event()
        threading.Thread(target=self._read, name="jobs", daemon=True).start()

    def next(self) -> str | None:
        """Wait for the next line; None when there are no more."""
        self._is_idle.set()
        return self._lines.get()

    def _read(self) -> None:
        for line in sys.stdin:  # a job comes when the one before has ended
            self._is_idle.clear()
            self._lines.put(line)
        if not self._is_idle.is_set():
            os._exit(1)
        self._lines.put(None)


def _take_stdout() -> IO[str]:
    """Standard output for the answers alone; what Spark and its processes print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _say(answers: IO[str], answer: dict[str, object]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
