"""Names and tags of the metrics of Java's producer and of the fetches of its consumer, recorded.

`python -m tests.recording.java_records_metrics` records them again, from the classes of Kafka 4.4.0. It needs Java 17
and Maven, and no broker.
"""

import json
import subprocess
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Final

from tests.support.kafka.java_program import java_command
from tests.support.kafka.kafka_classpath import kafka_classpath, kafka_libs

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "records_metrics.json"


def main() -> None:
    """Record the metrics."""
    with tempfile.TemporaryDirectory() as directory:
        command = java_command("RecordsMetrics", Path(directory), kafka_classpath(kafka_libs()))
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    metrics = [line.split("\t") for line in done.stdout.splitlines()]
    groups = []
    for group, found in groupby(metrics, key=lambda metric: metric[0]):
        lines = [json.dumps({"name": name, "tags": tags.split(",")}) for _, name, tags in found]
        groups.append(f' "{group}": [\n  ' + ",\n  ".join(lines) + "\n ]")
    GOLDEN.write_text("{\n" + ",\n".join(groups) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
