"""Applications of Kafka Streams that count records or words, which a small Java program runs in one JVM."""

from pathlib import Path

from attrs import frozen

from tests.support.kafka.java_program import JavaProgram, pairs

__all__ = ["JavaStreams", "StreamsApplication"]


@frozen
class StreamsApplication:
    """What an application has come to.

    Attributes:
        state: The state of the client, such as RUNNING.
        rebalances: How often it began to rebalance.
        tasks: The tasks of each of its threads that has some.
        error: The exception that ended it, or nothing.
    """

    state: str
    rebalances: int
    tasks: frozenset[str]
    error: str


class JavaStreams(JavaProgram):
    """A JVM with applications. Use it as a context manager.

    Args:
        directory: Where the compiled program goes.
        classpath: Kafka Streams, and what it needs.
    """

    def __init__(self, directory: Path, classpath: str) -> None:
        super().__init__("StreamsRunner", directory, classpath, "RecordingAssignor")

    def open(self, name: str, source: str, sink: str, **properties: str) -> None:
        """Start an application that counts the records of each key. Underscores in properties stand for dots."""
        self.say("open", name, source, sink, *pairs(properties))

    def open_words(self, name: str, source: str, sink: str, **properties: str) -> None:
        """Start an application that counts the lines that contain each word. The keys of the source are ids of lines.

        It has a repartition topic and a changelog. A line that is processed twice is counted once.
        """
        self.say("words", name, source, sink, *pairs(properties))

    def close(self, *names: str) -> None:
        """Close applications. Static members do not leave the group."""
        for name in names:
            self.say("close", name)
        self.state()  # comes when they are closed

    def state(self) -> dict[str, StreamsApplication]:
        """All applications that have not been closed, by name."""
        return dict(_application(word) for word in self.ask("state"))

    def copies(self) -> dict[str, frozenset[str]]:
        """The standby tasks of all applications that have not been closed, by name."""
        told = (word.split(":") for word in self.ask("copies"))
        return {name: frozenset(filter(None, tasks.split(","))) for name, tasks in told}


def _application(word: str) -> tuple[str, StreamsApplication]:
    name, state, rebalances, tasks, error = word.split(":")
    return name, StreamsApplication(state, int(rebalances), frozenset(filter(None, tasks.split(";"))), error)
