"""Kafka's own command-line tools, which a small Java program runs one after the other in one JVM."""

import base64
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from attrs import frozen

_SOURCE = Path(__file__).parent / "java" / "ToolRunner.java"
_PATIENCE_MS = 60_000
_JAVA = (
    "java",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
    "--add-opens",
    "java.base/java.lang=ALL-UNNAMED",
)

MAIN_CLASSES: Mapping[str, str] = MappingProxyType({
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-share-consumer-perf-test": "org.apache.kafka.tools.ShareConsumerPerformance",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-streams-application-reset": "org.apache.kafka.tools.StreamsResetter",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
    "kafka-verifiable-share-consumer": "org.apache.kafka.tools.VerifiableShareConsumer",
})  # fmt: skip
"""The tools by the names of their scripts."""


@frozen
class ToolRun:
    """How a tool ended.

    Attributes:
        status: Its exit status.
        out: What it wrote to standard output.
        err: What it wrote to standard error.
    """

    status: int
    out: str
    err: str

    @property
    def words(self) -> list[list[str]]:
        """The words of each line of the output, without empty lines."""
        return [line.split() for line in self.out.splitlines() if line.strip()]


class KafkaTools:
    """A JVM that runs tools. Use it as a context manager.

    Args:
        directory: Where the compiled program goes.
        classpath: The tools and all that they need.
    """

    def __init__(self, directory: Path, classpath: str) -> None:
        compile_it = ["javac", "-cp", classpath, "-d", str(directory), str(_SOURCE)]
        subprocess.run(compile_it, check=True, timeout=_PATIENCE_MS / 1000)
        command = [*_JAVA, "-cp", f"{directory}:{classpath}", _SOURCE.stem, str(_PATIENCE_MS)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="ascii")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(self, tool: str, *arguments: str, given: str = "") -> ToolRun:
        """Run a tool to its end.

        Args:
            tool: The name of its script, such as `kafka-topics`.
            arguments: Its arguments.
            given: What it reads from standard input.
        """
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(" ".join(map(_encoded, (MAIN_CLASSES[tool], given, *arguments))) + "\n")
        requests.flush()
        status, out, err = answers.readline().rstrip("\n").split(" ")
        return ToolRun(int(status), _decoded(out), _decoded(err))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(word: str) -> str:
    return base64.b64decode(word).decode()
