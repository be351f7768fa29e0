"""DeleteTopics (key 20), v1-v6: deletes topics and their logs, by name or by id (v6).

Errors per topic: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUEST (listed
twice, or with both name and id, or with neither), TOPIC_DELETION_DISABLED (INVALID_REQUEST before v3),
INVALID_TOPIC_EXCEPTION (internal topics).
"""

from uuid import UUID

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.authorization.refusals import refusal_of
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.leadership import topic_by_id_or_name
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, COSTLY
from kafka_groups.errors import (
    BrokerError,
    InvalidRequestError,
    InvalidTopicError,
    TopicAuthorizationFailedError,
    TopicDeletionDisabledError,
)
from kafka_groups.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

__all__ = ["handle"]

_FIRST_WITH_DELETION_DISABLED = 3


async def handle(request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse:
    """Return one result for each topic."""
    each = context.turns.each
    named = [DeleteTopicState(name=name) async for name in each(request.topic_names, CHEAP)]
    by_identity: dict[DeleteTopicState | UUID, list[DeleteTopicState]] = {}
    async for topic in each(request.topics or named):
        by_identity.setdefault(_identity(topic, context.services.cluster.metadata), []).append(topic)
    responses = [
        _delete_or_refuse(same[0], len(same), context) async for same in each(by_identity.values(), 2 * COSTLY)
    ]
    return DeleteTopicsResponse(responses=tuple(responses))


def _identity(wanted: DeleteTopicState, metadata: ClusterMetadata) -> DeleteTopicState | UUID:
    # If a request lists a topic once by name and once by id, it lists the topic twice.
    if (wanted.name is None) is (wanted.topic_id is None):
        return wanted
    topic = metadata.topic(wanted.name) if wanted.name is not None else None
    topic = metadata.topic_by_id(wanted.topic_id) if wanted.topic_id is not None else topic
    return wanted if topic is None else topic.topic_id


def _delete_or_refuse(wanted: DeleteTopicState, times: int, context: RequestContext) -> DeletableTopicResult:
    try:
        topic = _deletable(wanted, times, context)
    except BrokerError as error:
        return DeletableTopicResult(
            name=error.name if isinstance(error, _NoRightError) else wanted.name,
            topic_id=wanted.topic_id,
            error_code=code_of(error),
            error_message=str(error),
        )
    context.services.cluster.metadata.delete_topic(topic.name)
    return DeletableTopicResult(name=topic.name, topic_id=topic.topic_id)


class _NoRightError(TopicAuthorizationFailedError):
    """The client may not delete the topic.

    Attributes:
        name: Name of the topic, or None if the client may not know it.
    """

    def __init__(self, name: str | None) -> None:
        super().__init__(str(refusal_of(AclResourceType.TOPIC)))
        self.name = name


def _known_topic(wanted: DeleteTopicState, context: RequestContext) -> TopicMetadata:
    metadata = context.services.cluster.metadata
    # Who may delete any topic need not have the right for each. Nothing more is asked about an unknown id.
    may_delete_all = context.may(AclOperation.DELETE, AclResourceType.CLUSTER)
    name = wanted.name or topic_by_id_or_name(metadata, wanted.topic_id, "").name
    if not may_delete_all:
        # As in Kafka, who names a topic by its id learns its name only with the right to describe it.
        may_describe = context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, name)
        if not context.may(AclOperation.DELETE, AclResourceType.TOPIC, name):
            raise _NoRightError(name if may_describe else wanted.name)
    return topic_by_id_or_name(metadata, wanted.topic_id, name)


def _deletable(wanted: DeleteTopicState, times: int, context: RequestContext) -> TopicMetadata:
    services = context.services
    # The checks and their order are those of ControllerApis.deleteTopics in Kafka. Clients before version 3 do not know
    # the error for deletion that is switched off.
    if not services.cluster.settings.delete_topic_enable:
        if context.version < _FIRST_WITH_DELETION_DISABLED:
            raise InvalidRequestError("Topic deletion is disabled.")
        raise TopicDeletionDisabledError
    if wanted.name is not None and wanted.topic_id is not None:
        raise InvalidRequestError("You may not specify both topic name and topic id.")
    if wanted.name is None and wanted.topic_id is None:
        raise InvalidRequestError("Neither topic name nor id were specified.")
    # A topic that is listed twice is not deleted.
    if times > 1:
        raise InvalidRequestError("Duplicate topic name.")
    topic = _known_topic(wanted, context)
    # Kafka lets those who have the rights delete internal topics. Here their coordinators would lose all that they
    # know.
    if topic.is_internal:
        raise InvalidTopicError(f"Cannot delete the internal topic '{topic.name}'.")
    return topic
