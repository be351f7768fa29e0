"""The command of an application of Kafka Streams. It is compiled when it is first needed."""

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.benchmarks.applications.works import MAP, WINDOWS
from tests.support.kafka.java_program import java_command
from tests.support.kafka.kafka_classpath import streams_classpath

if TYPE_CHECKING:
    from tests.benchmarks.applications.running import StreamsJob

__all__ = ["java_application"]

_WORKS: Final = {MAP: "map", WINDOWS: "windows"}


def java_application(job: "StreamsJob") -> list[str]:
    """Return the command for a job."""
    assert job.work in _WORKS, f"Kafka Streams has no program for {job.work!r}"
    properties = {
        "application.id": job.group,
        "bootstrap.servers": job.servers,
        "commit.interval.ms": job.commit_ms,
        "group.protocol": "streams",
        "num.stream.threads": job.workers,
        "processing.guarantee": job.guarantee,
        "state.dir": job.directory,
    }
    return [*_compiled(), _WORKS[job.work], job.source, job.target, *(f"{k}={v}" for k, v in properties.items())]


@cache
def _compiled() -> tuple[str, ...]:
    classes = tempfile.TemporaryDirectory(prefix="kafka-groups-java-")
    _kept.append(classes)
    # Unlike in tests, the virtual machine optimises as it does in production.
    return tuple(java_command("BenchmarkApplication", Path(classes.name), streams_classpath(), is_optimised=True))


_kept: list["tempfile.TemporaryDirectory[str]"] = []
"""The classes stay until the benchmark ends."""
