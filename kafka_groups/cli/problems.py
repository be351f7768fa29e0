"""Failures of a command, as one line each and as entries of its document."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen

from kafka_groups.cli.documents.document import ErrorEntry
from kafka_groups.errors import BrokerError, error_for
from kafka_groups.errors.texts import GRANT_IT, sentences, text_of
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
    """Return an error about a resource. What to do is apart from what happened, if it is known."""
    text, code = text_of(error), _code_of(error)
    message, grants, command = text.partition(f" {GRANT_IT}")
    if grants:
        return CommandProblem(resource, message, f"{GRANT_IT}{command}", code)
    if code is not None and (code in _ALWAYS or _is_bare(text, code, resource)):
        return CommandProblem(resource, _sentence(code), _REMEDIES.get(code, "").format(resource) or None, code)
    return CommandProblem(resource, text, code=code)


def _code_of(error: Exception) -> str | None:
    return ErrorCode(error.code).name if isinstance(error, BrokerError) else None


def _is_bare(text: str, code: str, resource: str) -> bool:
    """Return whether a text is the name of the error alone, perhaps with the resource: brokers explain few errors."""
    return text == code or text in {f"{code}: {about}{resource}" for about in ("", "the topic ", "group ")}


def _sentence(code: str) -> str:
    return _SENTENCES.get(code) or str(error_for(ErrorCode[code]))


_SENTENCES: Final[Mapping[str, str]] = MappingProxyType({
    "NON_EMPTY_GROUP": "It has members",
    "GROUP_SUBSCRIBED_TO_TOPIC": "Members of the group read the topic",
    "UNKNOWN_TOPIC_OR_PARTITION": "It does not exist",
    "TRANSACTIONAL_ID_NOT_FOUND": "It does not exist",
    "TOPIC_ALREADY_EXISTS": "It exists already",
    "SECURITY_DISABLED": "This cluster has no authorizer",
})  # fmt: skip
"""The sentences for errors, by Kafka's name, whose classes say it in more or other words."""

_ALWAYS: Final = frozenset({"SECURITY_DISABLED"})
"""Errors of which brokers say less than we do."""

_REMEDIES: Final[Mapping[str, str]] = MappingProxyType({
    "NON_EMPTY_GROUP": "Stop them, or wait until their sessions time out, and try again",
    "GROUP_SUBSCRIBED_TO_TOPIC": "Stop them, or have them read other topics, and try again",
    "SECURITY_DISABLED": "Set authorizer.class.name on its brokers",
})  # fmt: skip
