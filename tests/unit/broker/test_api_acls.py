from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclResourceType
from kafka_groups.broker.profile import PROFILES
from kafka_groups.broker.requests.context import UnansweredError
from kafka_groups.config.readers import STANDARD_AUTHORIZER
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kafka_groups.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_groups.protocol.messages.describe_acls import DescribeAclsRequest
from tests.support.broker.acls import allow, deny
from tests.support.broker.broker_services import HandlerBroker, all_versions

READ, WRITE = AclOperation.READ, AclOperation.WRITE
CLUSTER, PREFIXED = AclResourceType.CLUSTER, AclPatternType.PREFIXED
EVERYTHING = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:ANONYMOUS",
}
NO_RIGHTS = {"authorizer.class.name": STANDARD_AUTHORIZER}


def creation(binding: AclBinding) -> AclCreation:
    return AclCreation(
        resource_type=binding.resource_type,
        resource_name=binding.name,
        resource_pattern_type=binding.pattern_type,
        principal=binding.principal,
        host=binding.host,
        operation=binding.operation,
        permission_type=binding.permission,
    )


def wanted(filter_class: Callable[..., Any], **fields: Any) -> Any:
    """A filter that matches everything, apart from what is given."""
    open_fields = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    return filter_class(**{**open_fields, **fields})


async def created(broker: HandlerBroker, *bindings: AclBinding, version: int = 3) -> list[tuple[int, str | None]]:
    response = await broker.ask(CreateAclsRequest(creations=tuple(map(creation, bindings))), version)
    return [(each.error_code, each.error_message) for each in response.results]


async def described(broker: HandlerBroker, version: int = 3, **fields: Any) -> set[tuple[str, str]]:
    response = await broker.ask(wanted(DescribeAclsRequest, **fields), version)
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, "")
    return {(each.resource_name, acl.principal) for each in response.resources for acl in each.acls}


@pytest.mark.parametrize("version", all_versions(CreateAclsRequest))
async def test_acls_are_created_listed_and_deleted_in_every_version(version: int) -> None:
    broker = HandlerBroker(settings=EVERYTHING)
    bindings = [allow(READ), deny(WRITE, "ord", PREFIXED, who="User:bob"), allow(READ)]
    assert await created(broker, *bindings, version=version) == [(0, "")] * 3
    assert list(broker.metadata.acls) == bindings[:2]
    assert await described(broker, version) == {("orders", "User:ann"), ("ord", "User:bob")}
    request = DeleteAclsRequest(filters=(wanted(DeleteAclsFilter, principal_filter="User:bob"),))
    (result,) = (await broker.ask(request, version)).filter_results
    (deleted,) = result.matching_acls
    assert (deleted.resource_name, deleted.pattern_type, deleted.permission_type) == ("ord", 4, 2)
    assert list(broker.metadata.acls) == [allow(READ)]


async def test_acls_with_one_pattern_are_listed_together() -> None:
    broker = HandlerBroker(settings=EVERYTHING)
    await created(broker, allow(READ), allow(WRITE), allow(READ, kind=PREFIXED))
    response = await broker.ask(wanted(DescribeAclsRequest))
    assert [(each.pattern_type, len(each.acls)) for each in response.resources] == [(3, 2), (4, 1)]


async def test_an_invalid_acl_does_not_keep_others_from_being_created() -> None:
    broker = HandlerBroker(settings=EVERYTHING)
    found = await created(broker, allow(READ, ""), allow(READ, host="abc/8"), allow(READ))
    assert found == [
        (ErrorCode.INVALID_REQUEST, "Invalid empty resource name"),
        (ErrorCode.INVALID_REQUEST, "Invalid CIDR notation 'abc/8': Could not parse [abc/8]"),
        (ErrorCode.NONE, ""),
    ]
    assert list(broker.metadata.acls) == [allow(READ)]


async def test_before_kafka_4_4_a_host_may_be_any_text() -> None:
    broker = HandlerBroker(settings=EVERYTHING, profile=PROFILES["4.3"])
    assert await created(broker, allow(READ, host="abc/8"), allow(READ, host="")) == [(0, "")] * 2


async def test_filters_choose_what_is_listed() -> None:
    broker = HandlerBroker(settings=EVERYTHING)
    await created(broker, allow(READ), allow(READ, "ord", PREFIXED), allow(READ, "*"), allow(READ, "posts"))
    match: dict[str, Any] = {"resource_name_filter": "orders", "pattern_type_filter": AclPatternType.MATCH}
    assert {name for name, _ in await described(broker, **match)} == {"orders", "ord", "*"}
    assert await described(broker, resource_name_filter="orders") == {("orders", "User:ann")}
    assert await described(broker, operation=AclOperation.DESCRIBE) == set()
    assert await described(broker, resource_type_filter=99) == set()


async def test_an_acl_that_two_filters_find_is_in_both_results() -> None:
    broker = HandlerBroker(settings=EVERYTHING)
    await created(broker, allow(READ), allow(WRITE))
    filters = (
        wanted(DeleteAclsFilter, operation=READ),
        wanted(DeleteAclsFilter),
        wanted(DeleteAclsFilter, operation=9),
    )
    response = await broker.ask(DeleteAclsRequest(filters=filters))
    assert [len(each.matching_acls) for each in response.filter_results] == [1, 2, 0]
    assert list(broker.metadata.acls) == []


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"resource_type_filter": 99}, "Unknown patternFilter."),
        ({"pattern_type_filter": 9}, "Unknown patternFilter."),
        ({"operation": 99}, "Unknown entryFilter."),
        ({"permission_type": 9}, "Unknown entryFilter."),
    ],
)
async def test_nothing_is_deleted_by_an_unknown_filter(fields: dict[str, int], text: str) -> None:
    broker = HandlerBroker(settings=EVERYTHING)
    await created(broker, allow(READ))
    filters = (wanted(DeleteAclsFilter, **fields), wanted(DeleteAclsFilter, principal_filter="User:bob"))
    response = await broker.ask(DeleteAclsRequest(filters=filters))
    assert [each.error_message for each in response.filter_results] == [text, None]
    assert list(broker.metadata.acls) == [allow(READ)]


@pytest.mark.parametrize(
    "request_",
    [
        wanted(DescribeAclsRequest, resource_type_filter=0),
        DeleteAclsRequest(filters=(wanted(DeleteAclsFilter, operation=0),)),
        CreateAclsRequest(creations=(creation(allow(AclOperation.UNKNOWN)),)),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("settings", [EVERYTHING, NO_RIGHTS, {}])
async def test_the_number_of_unknown_closes_the_connection(request_: object, settings: dict[str, object]) -> None:
    with pytest.raises(UnansweredError):
        await HandlerBroker(settings=settings).ask(request_)


async def test_without_an_authorizer_security_is_disabled() -> None:
    assert await all_errors(HandlerBroker()) == [
        (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."),
        (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker"),
        (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."),
    ]


async def test_without_rights_nothing_is_listed_or_changed() -> None:
    broker = HandlerBroker(settings=NO_RIGHTS)
    broker.metadata.change_acls([allow(READ)])
    assert await all_errors(broker) == [(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")] * 3
    assert list(broker.metadata.acls) == [allow(READ)]


async def test_describe_lists_and_alter_changes() -> None:
    broker = HandlerBroker(settings=NO_RIGHTS)
    anonymous = {"of": CLUSTER, "who": "User:ANONYMOUS"}
    broker.metadata.change_acls([allow(AclOperation.DESCRIBE, "kafka-cluster", **anonymous)])  # type: ignore[arg-type]
    assert [code for code, _ in await all_errors(broker)] == [31, 0, 31]
    broker.metadata.change_acls([allow(AclOperation.ALTER, "kafka-cluster", **anonymous)])  # type: ignore[arg-type]
    assert [code for code, _ in await all_errors(broker)] == [0, 0, 0]


async def all_errors(broker: HandlerBroker) -> list[tuple[int, str | None]]:
    """The errors of creating, listing and deleting."""
    (made,) = await created(broker, allow(WRITE))
    listed = await broker.ask(wanted(DescribeAclsRequest))
    request = DeleteAclsRequest(filters=(wanted(DeleteAclsFilter, operation=WRITE),))
    (deleted,) = (await broker.ask(request)).filter_results
    return [made, *((each.error_code, each.error_message) for each in (listed, deleted))]
