"""Missing rights of a member of an application: brokers name neither the user nor the topics."""

from typing import Final

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.client.rights import NeededRight, explained, missing_rights
from kafka_groups.errors import KafkaGroupsError, TopicAuthorizationFailedError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.streams.member.rules.member_description import MemberDescription

__all__ = ["explained_refusal"]

_INTERNAL: Final = (AclOperation.CREATE, AclOperation.DELETE, AclOperation.READ, AclOperation.WRITE)
"""The operations on internal topics. DELETE is for records of repartition topics that were processed."""


def explained_refusal(
    error: KafkaGroupsError, api: ApiKey, description: MemberDescription, principal: str | None
) -> KafkaGroupsError:
    """Return the error of a member, with a text that says what to grant if a right is missing.

    Args:
        error: The error that the coordinator answered.
        api: The API that the member has called.
        description: The member.
        principal: The user; None if the client does not know.
    """
    if isinstance(error, TopicAuthorizationFailedError):
        told: KafkaGroupsError = _of_topics(description, principal)
        told.__cause__ = error
        return told
    return explained(error, api, (description.group_id,), principal, AclOperation.READ)


def _of_topics(description: MemberDescription, principal: str | None) -> KafkaGroupsError:
    # The coordinator does not say which topics it means: they may be sources, or internal topics.
    sources, topic = sorted(description.topology.source_topics), AclResourceType.TOPIC
    internal = NeededRight(_INTERNAL, topic, (f"{description.group_id}-",), is_prefix=True)
    read = [NeededRight((AclOperation.READ,), topic, sources)] if sources else []  # there are none for patterns alone
    return missing_rights(ErrorCode.TOPIC_AUTHORIZATION_FAILED, [*read, internal], principal)
