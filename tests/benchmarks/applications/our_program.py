"""An application of ours for the benchmarks, in a process of its own; it works until its standard input ends.

`JOB_VARIABLE` has its job, which the worker processes read, too. It prints how many seconds it took to be RUNNING.
"""

import json
import os
import sys
import threading
import time
from datetime import timedelta
from typing import Any

from kafka_groups import serdes
from kafka_groups.streams import KafkaStreams, StreamsBuilder, TimeWindows, Topology
from tests.benchmarks.applications.works import (
    BESIDE,
    IN_MEMORY,
    JOB_VARIABLE,
    KEYS,
    MAP,
    WINDOW_S,
    WINDOWS,
    WINDOWS_CACHED,
)

_SIZE = timedelta(seconds=WINDOW_S)
_TIMEOUT_S = 120.0
_GETS, _ASKED_KEYS = 100, 1_000


def build() -> Topology:
    """Return the topology of the job."""
    job = _job()
    builder = StreamsBuilder()
    topology = {MAP: _map, WINDOWS: _windows, WINDOWS_CACHED: _windows, KEYS: _keys, BESIDE: _beside}[job["work"]]
    topology(builder, job)
    return builder.build()


def _map(builder: StreamsBuilder, job: dict[str, Any]) -> None:
    source = builder.stream(job["source"], key=serdes.string, value=serdes.string)
    source.map_values(str.upper).to(job["target"], value=serdes.string)


def _windows(builder: StreamsBuilder, job: dict[str, Any]) -> None:
    source = builder.stream(job["source"], key=serdes.string, value=serdes.string)
    windowed = source.group_by_key().windowed_by(TimeWindows(_SIZE, grace=_SIZE))
    windowed.count(store="counts", caching=job["work"] == WINDOWS_CACHED).to_stream().to(job["target"])


def _keys(builder: StreamsBuilder, job: dict[str, Any]) -> None:
    source = builder.stream(job["source"], key=serdes.string, value=serdes.string)
    source.group_by_key().count(store="counts").to_stream().to(job["target"])


def _beside(builder: StreamsBuilder, job: dict[str, Any]) -> None:
    _windows(builder, job)
    other = builder.stream(job["other"], key=serdes.string, value=serdes.string)
    other.group_by_key().count(store="others")


def _job() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(os.environ[JOB_VARIABLE])
    return found


def main() -> None:
    job = _job()
    app = KafkaStreams(
        build,
        {"bootstrap.servers": job["servers"], **job["settings"]},
        application_id=job["group"],
        num_workers=job["workers"],
        commit_interval_ms=job["commit_ms"],
        state_dir=job["directory"],
        processing_guarantee=job["guarantee"],
        **(
            {} if job["store"] == IN_MEMORY else {"default_dsl_store": job["store"]}
        ),  # earlier versions lack the keyword
    )
    began_s = time.monotonic()
    with app:
        app.wait_until_running(timeout=_TIMEOUT_S)
        print(time.monotonic() - began_s, flush=True)
        if job["gets_per_second"]:
            _ask(app, job["gets_per_second"])
        sys.stdin.read()


def _ask(app: KafkaStreams, per_second: int) -> None:
    """Ask the store for keys at a steady pace, until standard input ends. Print how many answers came in a second."""
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    view = app.store("counts")
    began_s, asked = time.monotonic(), 0
    while not ended.is_set():
        for _ in range(_GETS):
            view.get(f"key-{asked % _ASKED_KEYS}")
            asked += 1
        ended.wait(began_s + asked / per_second - time.monotonic())
    print(asked / (time.monotonic() - began_s), flush=True)


if __name__ == "__main__":
    main()
