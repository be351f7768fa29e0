"""An application of Faust for the benchmarks. It runs in an environment of its own, until it is killed."""

import json
import os
import sys
from typing import Any

import faust  # type: ignore[import-not-found]
from works import JOB_VARIABLE, MAP, WINDOW_S  # type: ignore[import-not-found]

JOB = json.loads(os.environ[JOB_VARIABLE])

app = faust.App(
    JOB["group"],
    broker=f"kafka://{JOB['servers']}",
    store="memory://",
    datadir=JOB["directory"],
    topic_partitions=JOB["partitions"],
    broker_commit_interval=JOB["commit_ms"] / 1000,
    consumer_auto_offset_reset="earliest",
)
source = app.topic(JOB["source"], key_type=str, value_type=str, key_serializer="raw", value_serializer="raw")
target = app.topic(JOB["target"], key_type=str, value_type=str, key_serializer="raw", value_serializer="raw")
counts = app.Table("counts", default=int).tumbling(WINDOW_S, expires=2 * WINDOW_S) if JOB["work"] != MAP else None


async def in_capitals(stream: Any) -> None:
    """Write texts in capital letters."""
    async for key, text in stream.items():
        await target.send(key=key, value=text.upper())


async def count(stream: Any) -> None:
    """Count the records of each key in windows."""
    assert counts is not None
    async for key, _ in stream.items():  # noqa: PERF102 - a stream is no dictionary
        counts[key] += 1
        await target.send(key=key, value=str(counts[key].current()))


app.agent(source)(in_capitals if JOB["work"] == MAP else count)

if __name__ == "__main__":
    sys.argv = [sys.argv[0], "--datadir", JOB["directory"], "worker", "--loglevel=warn", "--without-web"]
    app.main()
