"""Refusals among the results of a call: which right is missing, and what grants it."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from kafka_groups.acls import AclResourceType
from kafka_groups.client.calls.questions import COORDINATORS, LEADERS, TRANSACTION_COORDINATORS, Lookup, Question
from kafka_groups.client.calls.results import Results
from kafka_groups.client.rights import RESOURCE_TYPES, explained, is_refusal
from kafka_groups.errors import BrokerError, KafkaGroupsError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.types import TopicPartition

__all__ = ["explained_results"]

K = TypeVar("K")
V = TypeVar("V")

_TYPES_OF_KEYS: Final[Mapping[Lookup[Any], AclResourceType]] = {
    COORDINATORS: AclResourceType.GROUP,
    TRANSACTION_COORDINATORS: AclResourceType.TRANSACTIONAL_ID,
    LEADERS: AclResourceType.TOPIC,
}


def explained_results(results: Results[K, V], question: Question[K, V], principal: str | None) -> Results[K, V]:
    """Return the results of a question, whose errors about missing rights say what to grant.

    Args:
        results: The results. Values may be results of parts of a key, such as the partitions of a group.
        question: The question.
        principal: Who asked; None if the client does not know.
    """
    values: Mapping[K, Any] = {
        key: _explained(value, question, principal, None) if isinstance(value, Results) else value
        for key, value in results.values.items()
    }
    return _explained(Results(values, results.errors), question, principal, _type_of_keys(question))


def _type_of_keys(question: Question[Any, Any]) -> AclResourceType | None:
    return None if question.lookup is None else _TYPES_OF_KEYS.get(question.lookup)


def _explained(
    results: Results[K, V], question: Question[Any, Any], principal: str | None, keyed: AclResourceType | None
) -> Results[K, V]:
    def told(key: K, error: KafkaGroupsError) -> KafkaGroupsError:
        # Whoever may do what the question does may also look up the broker for it.
        lookup = question.lookup
        api = question.api if lookup is None or is_refusal(error, question.api) else lookup.api
        return explained(error, api, _names(key, error, keyed), principal)

    return Results(results.values, {key: told(key, error) for key, error in results.errors.items()})


def _names(key: object, error: KafkaGroupsError, keyed: AclResourceType | None) -> tuple[str, ...]:
    """Return the resource that an error is about; nothing if the key does not say."""
    if isinstance(key, TopicPartition):
        return (key.topic,)
    resource_type = RESOURCE_TYPES.get(ErrorCode(error.code)) if isinstance(error, BrokerError) else None
    # The topics of a group are not named where the key is the group.
    if keyed not in (None, resource_type):
        return ()
    name = key if isinstance(key, str) else getattr(key, "name", None)
    return (name,) if isinstance(name, str) else ()
