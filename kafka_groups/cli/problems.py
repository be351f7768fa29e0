"""Failures of a command, as one line each and as entries of its document."""

from attrs import frozen

from kafka_groups.cli.documents.document import ErrorEntry
from kafka_groups.errors import BrokerError
from kafka_groups.errors.texts import sentences, text_of
from kafka_groups.protocol.error_codes import ErrorCode

__all__ = ["CommandProblem", "problem_of"]


@frozen
class CommandProblem:
    """A failure.

    Attributes:
        resource: What it is about, such as a topic or a record.
        message: What happened.
        remedy: What to do; None if the message says it.
        code: Kafka's name of the error, or None.
    """

    resource: str
    message: str
    remedy: str | None = None
    code: str | None = None

    @property
    def line(self) -> str:
        """The failure as one line: what, why, and what to do."""
        text = sentences(self.message, self.remedy or "")
        # Some messages are the name of the error, as brokers explain few of them.
        code = f" ({self.code})" if self.code is not None and self.code not in text else ""
        return " ".join(f"{self.resource}: {text.removesuffix('.') if code else text}{code}".split("\n"))

    @property
    def entry(self) -> ErrorEntry:
        """The failure as an entry of a document."""
        return ErrorEntry(self.resource, self.code, self.message, self.remedy)


def problem_of(resource: str, error: Exception) -> CommandProblem:
    """Return an error about a resource."""
    code = ErrorCode(error.code).name if isinstance(error, BrokerError) else None
    return CommandProblem(resource, text_of(error), code=code)
