"""Kafka's own StandardAuthorizer, asked by a small Java program about our ACLs."""

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from kafka_groups.acls import (
    AclBinding,
    AclFilter,
    AclOperation,
    AclPatternType,
    AclPermission,
    AclResourceType,
)
from tests.support.kafka.java_program import JavaProgram
from tests.support.kafka.kafka_classpath import kafka_classpath

__all__ = ["Answer", "AnyResource", "KafkaAuthorizer", "OneResource", "Question", "RightsScene"]

Answer = bool | tuple[int, ...]
"""Whether something is allowed, or the places of the ACLs that match a filter."""


@frozen
class OneResource:
    """May a client perform an operation on a resource?"""

    principal: str
    host: str
    operation: AclOperation
    resource_type: AclResourceType
    name: str


@frozen
class AnyResource:
    """May a client perform an operation on some resource of a type?"""

    principal: str
    host: str
    operation: AclOperation
    resource_type: AclResourceType


Question = OneResource | AnyResource | AclFilter


@frozen
class RightsScene:
    """ACLs, each of them once, the authorizer's configuration, and questions."""

    super_users: tuple[str, ...]
    allows_without_acls: bool
    acls: tuple[AclBinding, ...]
    questions: tuple[Question, ...]


class KafkaAuthorizer(JavaProgram):
    """The program. Use it as a context manager.

    Args:
        directory: Where the compiled class goes.
        jars: The directory with the jars of a release of Kafka.
    """

    def __init__(self, directory: Path, jars: Path) -> None:
        super().__init__("AuthorizerDriver", directory, kafka_classpath(jars))

    def answers(self, scene: RightsScene) -> list[Answer]:
        """Kafka's answers to the questions, in their order."""
        lines = [_line("begin", ";".join(scene.super_users), str(scene.allows_without_acls).lower())]
        lines += [_of_binding(binding) for binding in scene.acls]
        lines += [_asked(question) for question in scene.questions]
        self.say("\n".join(lines))
        return [_read(word) for word in self.ask_line("end").split()]


def _line(*fields: object) -> str:
    return "\t".join(map(str, fields))


def _of_binding(binding: AclBinding) -> str:
    return _line(
        "acl",
        int(binding.resource_type),
        binding.name,
        int(binding.pattern_type),
        binding.principal,
        binding.host,
        int(binding.operation),
        int(binding.permission),
    )


def _asked(question: Question) -> str:
    if isinstance(question, AclFilter):
        return _of_filter(question)
    fields = (question.principal, question.host, int(question.operation), int(question.resource_type))
    return _line("one", *fields, question.name) if isinstance(question, OneResource) else _line("any", *fields)


def _of_filter(wanted: AclFilter) -> str:
    return _line(
        "filter",
        int(wanted.resource_type or AclResourceType.ANY),
        _text(wanted.name),
        int(wanted.pattern_type or AclPatternType.ANY),
        _text(wanted.principal),
        _text(wanted.host),
        int(wanted.operation or AclOperation.ANY),
        int(wanted.permission or AclPermission.ANY),
    )


def _text(value: str | None) -> str:
    return "-" if value is None else value


def _read(word: str) -> Answer:
    if word.startswith("["):
        places: Sequence[str] = word[1:-1].split(",") if word != "[]" else ()
        return tuple(map(int, places))
    return word == "1"
