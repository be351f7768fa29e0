"""Names, tags and recording levels of the metrics of Kafka Streams 4.3.1, recorded.

`python -m tests.recording.java_streams_metrics` records them again, with an application on the embedded broker. It
needs Java 17 and Maven.
"""

import json
import subprocess
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Final

from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from tests.support.kafka.java_program import java_command
from tests.support.kafka.kafka_classpath import streams_classpath

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "streams_metrics.json"
_RUNNING_MS: Final = 8_000


def measured(bootstrap_servers: str, directory: Path) -> list[list[str]]:
    """The group, name, tags and level of each metric, as Java says."""
    command = java_command("StreamsMetrics", directory, streams_classpath())
    arguments = [bootstrap_servers, str(directory / "state"), str(_RUNNING_MS)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True, timeout=120)
    return [line.split("\t") for line in done.stdout.splitlines()]


def text_of(metrics: list[list[str]]) -> str:
    """The file: each metric in a line, by groups."""
    groups = []
    for group, found in groupby(metrics, key=lambda metric: metric[0]):
        lines = [
            json.dumps({"name": name, "tags": tags.split(","), "level": None if level == "null" else level})
            for _, name, tags, level in found
        ]
        groups.append(f' "{group}": [\n  ' + ",\n  ".join(lines) + "\n ]")
    return "{\n" + ",\n".join(groups) + "\n}\n"


def main() -> None:
    """Record the metrics."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        create_topics({"bootstrap.servers": cluster.bootstrap_servers}, {"posts": 1, "totals": 1, "names": 1})
        cluster.produce("posts", ["to be or not to be"] * 20)
        cluster.produce("names", ["v"], keys=["k"])
        GOLDEN.write_text(text_of(measured(cluster.bootstrap_servers, Path(directory))), encoding="utf-8")


if __name__ == "__main__":
    main()
