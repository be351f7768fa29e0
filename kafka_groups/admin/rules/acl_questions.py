"""Questions about the ACLs of a cluster: describe, create, delete (KIP-4, KIP-290)."""

from collections.abc import Mapping, Sequence
from typing import Final

from kafka_groups.acls import AclBinding, AclFilter, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.client.calls.questions import Answer, Asking, Question, gathered, told
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from kafka_groups.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kafka_groups.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

__all__ = ["create_acls", "delete_acls", "describe_acls"]

_CLUSTER: Final = "the cluster"
_MOST_CREATIONS: Final = 5_000
"""The most ACLs in one request to create some. Controllers refuse more than 10,000 records at once."""


async def describe_acls(ask: Asking, wanted: AclFilter) -> tuple[AclBinding, ...]:
    """Ask any broker for the ACLs that a filter chooses.

    Raises:
        KafkaGroupsError: You may not describe the cluster, or it has no authorizer.
    """
    request = DescribeAclsRequest(
        resource_type_filter=wanted.resource_type or AclResourceType.ANY,
        resource_name_filter=wanted.name,
        pattern_type_filter=wanted.pattern_type or AclPatternType.ANY,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation or AclOperation.ANY,
        permission_type=wanted.permission or AclPermission.ANY,
    )
    question = Question(
        "describe the ACLs of", ApiKey.DESCRIBE_ACLS, (_CLUSTER,), lambda _keys, _version: request, _described
    )
    return (await ask(question))[_CLUSTER]


def _described(_keys: Sequence[str], response: DescribeAclsResponse) -> Mapping[str, Answer[tuple[AclBinding, ...]]]:
    found = (_binding_of(resource, acl) for resource in response.resources for acl in resource.acls)
    message = response.error_message or f"{response.error_code.name}: the ACLs of the cluster"
    return {_CLUSTER: told(response.error_code, message, tuple(sorted(found)))}


def _binding_of(resource: DescribeAclsResource, acl: AclDescription) -> AclBinding:
    return AclBinding(
        resource_type=AclResourceType.of_number(resource.resource_type),
        name=resource.resource_name,
        pattern_type=AclPatternType.of_number(resource.pattern_type),
        principal=acl.principal,
        host=acl.host,
        operation=AclOperation.of_number(acl.operation),
        permission=AclPermission.of_number(acl.permission_type),
    )


async def create_acls(ask: Asking, bindings: Sequence[AclBinding]) -> Results[AclBinding, None]:
    """Have the controller create ACLs. One that exists stays."""
    values: dict[AclBinding, None] = {}
    errors: dict[AclBinding, KafkaGroupsError] = {}
    for first in range(0, len(bindings), _MOST_CREATIONS):
        some = tuple(bindings[first : first + _MOST_CREATIONS])
        done = await ask(Question("create", ApiKey.CREATE_ACLS, some, _creation, _created))
        values |= done.values
        errors |= done.errors
    return Results(values, errors)


def _creation(keys: Sequence[AclBinding], _version: int) -> CreateAclsRequest:
    creations = (
        AclCreation(
            resource_type=key.resource_type,
            resource_name=key.name,
            resource_pattern_type=key.pattern_type,
            principal=key.principal,
            host=key.host,
            operation=key.operation,
            permission_type=key.permission,
        )
        for key in keys
    )
    return CreateAclsRequest(creations=tuple(creations))


def _created(keys: Sequence[AclBinding], response: CreateAclsResponse) -> Mapping[AclBinding, Answer[None]]:
    # Results have no names: they are in the order of the request.
    return {
        key: told(each.error_code, each.error_message or f"{each.error_code.name}: {key}", None)
        for key, each in zip(keys, response.results, strict=False)
    }


async def delete_acls(ask: Asking, filters: Sequence[AclFilter]) -> Results[AclFilter, Results[AclBinding, None]]:
    """Have the controller delete the ACLs that filters choose."""
    return await ask(Question("delete", ApiKey.DELETE_ACLS, tuple(filters), _deletion, _deleted))


def _deletion(keys: Sequence[AclFilter], _version: int) -> DeleteAclsRequest:
    filters = (
        DeleteAclsFilter(
            resource_type_filter=key.resource_type or AclResourceType.ANY,
            resource_name_filter=key.name,
            pattern_type_filter=key.pattern_type or AclPatternType.ANY,
            principal_filter=key.principal,
            host_filter=key.host,
            operation=key.operation or AclOperation.ANY,
            permission_type=key.permission or AclPermission.ANY,
        )
        for key in keys
    )
    return DeleteAclsRequest(filters=tuple(filters))


def _deleted(
    keys: Sequence[AclFilter], response: DeleteAclsResponse
) -> Mapping[AclFilter, Answer[Results[AclBinding, None]]]:
    return {
        key: told(
            each.error_code,
            each.error_message or f"{each.error_code.name}: {key}",
            gathered({_deleted_binding(acl): _outcome(acl) for acl in each.matching_acls}),
        )
        for key, each in zip(keys, response.filter_results, strict=False)
    }


def _deleted_binding(acl: DeleteAclsMatchingAcl) -> AclBinding:
    return AclBinding(
        resource_type=AclResourceType.of_number(acl.resource_type),
        name=acl.resource_name,
        pattern_type=AclPatternType.of_number(acl.pattern_type),
        principal=acl.principal,
        host=acl.host,
        operation=AclOperation.of_number(acl.operation),
        permission=AclPermission.of_number(acl.permission_type),
    )


def _outcome(acl: DeleteAclsMatchingAcl) -> KafkaGroupsError | None:
    return told(acl.error_code, acl.error_message, None)
