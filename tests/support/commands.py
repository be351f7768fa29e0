"""Commands that ask a broker, run in this process."""

from collections.abc import Sequence
from typing import Any

from click.testing import CliRunner, Result
from confluent_kafka import Producer

from kafka_groups.cli.consent import DRY_RUN
from kafka_groups.cli.main import main
from tests.support.command_documents import document

__all__ = ["Commands", "rows"]


def rows(table: str) -> list[str]:
    """The rows of a table below its headings, with one space between cells."""
    return [" ".join(line.split()) for line in table.splitlines()[1:]]


class Commands:
    """Runs commands on a cluster.

    Args:
        servers: Its brokers.
    """

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def __call__(self, *arguments: str, answer: str | None = None) -> Result:
        """Run a command. With an answer, it stands on standard input."""
        options = ["--bootstrap-servers", self.servers]
        done = CliRunner().invoke(main, [*arguments, *options], input=answer)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    def write(self, topic: str, records: int, partition: int = 0) -> None:
        """Write records to a partition."""
        producer = Producer({"bootstrap.servers": self.servers})
        for number in range(records):
            producer.produce(topic, str(number), partition=partition)
        assert producer.flush(30) == 0

    def lines(self, *arguments: str) -> Sequence[str]:
        """What a command prints that succeeds."""
        done = self(*arguments)
        assert done.exit_code == 0, done.output
        assert done.stderr == (f"{DRY_RUN}\n" if "--dry-run" in arguments else "")
        return done.stdout.splitlines()

    def document(self, *arguments: str, kind: str | None = None, status: int = 0) -> Any:
        """The document that a command prints, which fits the schema of the reference.

        Args:
            arguments: The command without `--json`.
            kind: Its name in the list of documents, if it isn't the first two words.
            status: Its exit status.
        """
        return document(self(*arguments, "--json"), kind or " ".join(arguments[:2]), status)
