"""Requests about ACLs that our own clients never send: what brokers accept, refuse, and close connections for."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from kafka_groups.acls import AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.errors import DisconnectedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kafka_groups.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_groups.protocol.messages.describe_acls import DescribeAclsRequest
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.targets import Target, everywhere, everywhere_with

with_an_authorizer = everywhere_with({
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
})  # fmt: skip

INVALID, NONE = ErrorCode.INVALID_REQUEST, ErrorCode.NONE
NO_TYPE = (
    "Could not parse principal from `{}` (no colon is present separating the principal type from the principal name)"
)
ONLY_NAME = "The only valid name for the CLUSTER resource is kafka-cluster"
CLUSTER = AclResourceType.CLUSTER
FIELDS: Mapping[str, Any] = MappingProxyType({
    "resource_type": AclResourceType.TOPIC, "resource_name": "orders", "resource_pattern_type": AclPatternType.LITERAL,
    "principal": "User:ann", "host": "*", "operation": AclOperation.READ, "permission_type": AclPermission.ALLOW,
})  # fmt: skip
ACCEPTED: tuple[Mapping[str, Any], ...] = (
    {},
    {},
    {"resource_name": "a b"},
    {"resource_name": "x" * 300},
    {"resource_name": "*", "resource_pattern_type": AclPatternType.PREFIXED},
    {"principal": "Role:x"},
    {"principal": ":"},
    {"host": "localhost"},
    {"host": "10.1.2.3/8"},
    {"resource_type": CLUSTER, "resource_name": "kafka-cluster"},
    {"resource_type": CLUSTER, "resource_name": "kafka-cluster", "resource_pattern_type": AclPatternType.PREFIXED},
    {"resource_type": AclResourceType.DELEGATION_TOKEN},
    {"resource_type": AclResourceType.USER},
    {"resource_type": AclResourceType.GROUP, "operation": AclOperation.IDEMPOTENT_WRITE},
)
REFUSED: tuple[tuple[Mapping[str, Any], str], ...] = (
    ({"resource_name": ""}, "Invalid empty resource name"),
    ({"resource_name": "", "principal": "bob", "host": ""}, "Invalid empty resource name"),
    ({"principal": "bob"}, NO_TYPE.format("bob")),
    ({"principal": "", "host": "/1"}, NO_TYPE.format("")),
    ({"host": ""}, "Host pattern cannot be null or empty"),
    ({"host": "/127.0.0.1"}, "Invalid CIDR notation '/127.0.0.1': Could not parse [/127.0.0.1]"),
    ({"host": "127.0.0.1/33"}, "Invalid CIDR notation '127.0.0.1/33': Value [33] not in range [0,32]"),
    ({"resource_type": CLUSTER}, ONLY_NAME),
    ({"resource_type": CLUSTER, "resource_name": "", "principal": "bob"}, ONLY_NAME),
    ({"resource_type": 99, "principal": "bob"}, "Invalid resourceType UNKNOWN"),
    ({"resource_pattern_type": 9}, "Invalid patternType UNKNOWN"),
    ({"operation": 99, "host": "/1"}, "Invalid operation UNKNOWN"),
    ({"permission_type": 9}, "Invalid permissionType UNKNOWN"),
)
UNKNOWN_FILTERS: tuple[tuple[Mapping[str, int], str], ...] = (
    ({"resource_type_filter": 99}, "Unknown patternFilter."),
    ({"pattern_type_filter": 9}, "Unknown patternFilter."),
    ({"operation": 99}, "Unknown entryFilter."),
    ({"permission_type": 9}, "Unknown entryFilter."),
)


def creating(*changed: Mapping[str, Any]) -> CreateAclsRequest:
    return CreateAclsRequest(creations=tuple(AclCreation(**{**FIELDS, **fields}) for fields in changed))


def choosing(filter_class: type[Any], **fields: Any) -> Any:
    everything = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    return filter_class(**{**everything, **fields})


@with_an_authorizer
async def test_what_is_accepted(target: Target) -> None:
    name = unique("accepted")
    client = target.client()
    created = await client.ask(creating(*ACCEPTED, {"resource_name": name}))
    assert {(each.error_code, each.error_message) for each in created.results} == {(NONE, "")}
    mine = choosing(DescribeAclsRequest, resource_name_filter=name)
    await until(lambda: client.ask(mine), lambda found: len(found.resources) == 1)
    everything = choosing(DescribeAclsRequest, principal_filter="User:ann")
    listed = (await client.ask(everything)).resources
    assert sorted((each.resource_type, each.pattern_type, len(each.acls)) for each in listed) == [
        (2, 3, 1), (2, 3, 1), (2, 3, 1), (2, 3, 3), (2, 4, 1), (3, 3, 1), (4, 3, 1), (4, 4, 1), (6, 3, 1), (7, 3, 1),
    ]  # fmt: skip
    deleted = await client.ask(DeleteAclsRequest(filters=(choosing(DeleteAclsFilter),)))
    assert len(deleted.filter_results[0].matching_acls) == len(ACCEPTED)
    await until(lambda: client.ask(everything), lambda found: not found.resources)


@with_an_authorizer
async def test_what_is_refused(target: Target) -> None:
    client = target.client()
    created = await client.ask(creating(*(fields for fields, _ in REFUSED)))
    assert [(each.error_code, each.error_message) for each in created.results] == [
        (INVALID, text) for _, text in REFUSED
    ]


@with_an_authorizer
@pytest.mark.parametrize(("fields", "text"), UNKNOWN_FILTERS)
async def test_filters_with_unknown_numbers(target: Target, fields: Mapping[str, int], text: str) -> None:
    client = target.client()
    [deleted] = (await client.ask(DeleteAclsRequest(filters=(choosing(DeleteAclsFilter, **fields),)))).filter_results
    assert (deleted.error_code, deleted.error_message) == (INVALID, text)
    described = await client.ask(choosing(DescribeAclsRequest, **fields))
    assert (described.error_code, described.resources) == (NONE, ())


@everywhere
async def test_the_number_of_unknown_closes_the_connection(target: Target) -> None:
    for request in (
        creating({"operation": 0}),
        choosing(DescribeAclsRequest, resource_type_filter=0),
        DeleteAclsRequest(filters=(choosing(DeleteAclsFilter, permission_type=0),)),
    ):
        client = target.client()
        with pytest.raises(DisconnectedError):
            await client.ask(request)


@everywhere
async def test_without_an_authorizer(target: Target) -> None:
    client = target.client()
    [created] = (await client.ask(creating({"resource_name": ""}))).results
    assert (created.error_code, created.error_message) == (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    described = await client.ask(choosing(DescribeAclsRequest))
    assert described.error_message == "No Authorizer is configured on the broker"
    [deleted] = (await client.ask(DeleteAclsRequest(filters=(choosing(DeleteAclsFilter),)))).filter_results
    assert (deleted.error_code, deleted.error_message) == (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
