"""Find out whether a worker may do what its handlers need, without joining its groups or reading a record."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.calls.client import AdminClient
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Asking, Question, told
from kafka_groups.client.rights import NeededRight, missing_rights
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import GroupAuthorizationFailedError, KafkaGroupsError, TopicAuthorizationFailedError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.authorized_operations import NOT_ASKED
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafka_groups.protocol.messages.share_group_heartbeat import (
    LEAVE_EPOCH,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

__all__ = ["WorkerNeeds", "missing_rights_of"]

_TIMEOUT_MS: Final = 30_000
_NOBODY: Final = str(UUID(int=0))
"""A member id that no member of a group has."""
_FIRST_WITH_OPERATIONS: Final = 8
"""The first version of Metadata that has authorized operations (KIP-430)."""


@frozen
class WorkerNeeds:
    """The resources that a handler uses.

    Attributes:
        groups: The share groups that it joins.
        reads: The topics that it reads.
        writes: The topics that it writes to.
    """

    groups: Sequence[str]
    reads: Sequence[str]
    writes: Sequence[str]


async def missing_rights_of(needs: WorkerNeeds, config: ClientConfig, environment: Environment) -> Sequence[str]:
    """Return a text for each right that is missing: READ on a group, READ on a topic, or WRITE on a topic.

    Raises:
        KafkaGroupsError: No broker answers.
    """
    async with _opened(config, environment) as (client, principal):
        ask = client.within(_TIMEOUT_MS)
        groups = [error async for error in _of_groups(ask, needs.groups)]
        allowed = await _allowed_operations(ask, {*needs.reads, *needs.writes})
    denied = partial(_denied, allowed=allowed, principal=principal)
    return [*groups, *denied(needs.reads, AclOperation.READ), *denied(needs.writes, AclOperation.WRITE)]


@asynccontextmanager
async def _opened(config: ClientConfig, environment: Environment) -> AsyncIterator[tuple[AdminClient, str | None]]:
    assembly = Assembly(config, environment, BackgroundErrors())
    client = AdminClient(assembly, request_timeout_ms=config.request_timeout_ms)
    try:
        yield client, assembly.principal
    finally:
        await client.close()


# ---------------------------------------------------------------------------------------------- groups


async def _of_groups(ask: Asking, groups: Sequence[str]) -> AsyncIterator[str]:
    for group_id in groups:
        question = Question(
            "check the right to join", ApiKey.SHARE_GROUP_HEARTBEAT, (group_id,), _leave, _left, COORDINATORS
        )
        error = (await ask(question)).errors.get(group_id)
        # The other answers, such as an unknown member, come from brokers that let the client in.
        if isinstance(error, GroupAuthorizationFailedError):
            yield str(error)


def _leave(keys: Sequence[str], _version: int) -> ShareGroupHeartbeatRequest:
    # A member that does not exist leaves. The right is asked for first, and no group is made.
    return ShareGroupHeartbeatRequest(group_id=keys[0], member_id=_NOBODY, member_epoch=LEAVE_EPOCH)


def _left(keys: Sequence[str], response: ShareGroupHeartbeatResponse) -> Mapping[str, Answer[None]]:
    return dict.fromkeys(keys, told(response.error_code, response.error_message, None))


# ---------------------------------------------------------------------------------------------- topics


async def _allowed_operations(ask: Asking, topics: Iterable[str]) -> Mapping[str, int | KafkaGroupsError]:
    """Return the bits of the operations that the client may use on each topic, or an error."""
    names = tuple(sorted(topics))
    found = await ask(Question("check the rights on topics", ApiKey.METADATA, names, _with_operations, _operations))
    return {**found.values, **found.errors}


def _with_operations(keys: Sequence[str], version: int) -> MetadataRequest:
    return MetadataRequest(
        topics=tuple(MetadataRequestTopic(name=name) for name in keys),
        allow_auto_topic_creation=version < 4,
        include_topic_authorized_operations=version >= _FIRST_WITH_OPERATIONS,
    )


def _operations(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[int]]:
    return {
        topic.name or "": told(topic.error_code, f"{topic.error_code.name}: the topic {topic.name}", bits)
        for topic in response.topics
        for bits in (topic.topic_authorized_operations,)
    }


def _denied(
    topics: Iterable[str],
    operation: AclOperation,
    allowed: Mapping[str, int | KafkaGroupsError],
    principal: str | None,
) -> Sequence[str]:
    names = [topic for topic in dict.fromkeys(topics) if not _may(allowed[topic], operation)]
    if not names:
        return ()
    right = NeededRight((operation,), AclResourceType.TOPIC, names)
    return (str(missing_rights(ErrorCode.TOPIC_AUTHORIZATION_FAILED, [right], principal)),)


def _may(answer: int | KafkaGroupsError, operation: AclOperation) -> bool:
    """Return whether an answer allows an operation; True if it does not say, as for topics that do not exist."""
    if isinstance(answer, KafkaGroupsError):
        return not isinstance(answer, TopicAuthorizationFailedError)
    return answer == NOT_ASKED or bool(answer >> operation & 1)
