"""Kafka Streams 4.3.1 sends the topologies that were captured from it, wherever it runs."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.recording.java_topologies import captured
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip

SOURCE = Path(__file__).parents[1] / "support" / "kafka" / "java" / "TopologyCapture.java"


def output_of(*command: str) -> str:
    done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.real_kafka
@pytest.mark.slow
def test_java_sends_what_was_captured(tmp_path: Path) -> None:
    classpath = streams_classpath_or_skip()
    output_of("javac", "-cp", classpath, "-d", str(tmp_path), str(SOURCE))
    options = ("-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
    lines = output_of("java", *options, "-cp", f"{tmp_path}:{classpath}", "TopologyCapture").splitlines()
    found = {name: json.loads(text) for name, text in (line.split(" ", 1) for line in lines)}
    assert found == captured()
