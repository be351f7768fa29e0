"""The table of operations, compared with what a real Kafka's authorizer has logged; texts about missing rights."""

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.client.rights import (
    OPERATIONS,
    RESOURCE_TYPES,
    NeededRight,
    explained,
    is_refusal,
    missing_rights,
    needed,
    refused,
)
from kafka_groups.errors import (
    GroupAuthorizationFailedError,
    KafkaGroupsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    error_for,
)
from kafka_groups.errors.texts import sentences
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode

MEASURED: dict[str, Any] = json.loads(Path("tests/golden/authorization-4.4.0.json").read_text(encoding="utf-8"))

TYPES = {
    "Topic": AclResourceType.TOPIC,
    "Group": AclResourceType.GROUP,
    "TransactionalId": AclResourceType.TRANSACTIONAL_ID,
    "Cluster": AclResourceType.CLUSTER,
}
NOT_MEASURED = {
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
}
"""APIs that the golden file lacks. `docs/explanation/embedded-broker.md` and the page about ACLs have them."""
NOT_AN_ERROR_OF_THE_OPERATION = {"topics[].topic_config_error_code"}
"""CreateTopics has a second code, for configurations that it does not show. We do not ask for them."""


def api_of(name: str) -> ApiKey:
    return next(api for api in ApiKey if api.name.replace("_", "").lower() == name.lower())


def measured_refusals() -> set[tuple[ApiKey, AclResourceType, frozenset[AclOperation]]]:
    """API, type of the resource that the error is about, and the operations on such resources that were denied."""
    found = set()
    for measurement in MEASURED.values():
        api = api_of(measurement["request"]["api"])
        for step in measurement["steps"]:
            for place, code in step["errors"]:
                resource_type = RESOURCE_TYPES.get(ErrorCode[code]) if code in ErrorCode.__members__ else None
                if resource_type is None or place in NOT_AN_ERROR_OF_THE_OPERATION:
                    continue
                denied = {
                    AclOperation[operation]
                    for operation, kind, _, is_allowed in step["asked"]
                    if TYPES[kind] is resource_type and not is_allowed
                }
                found.add((api, resource_type, frozenset(denied)))
    return found


def test_the_table_has_the_operation_that_kafka_asked_for() -> None:
    wrong = [
        (api.name, kind.name, sorted(denied))
        for api, kind, denied in measured_refusals()
        if OPERATIONS.get(api, {}).get(kind) not in denied
    ]
    assert not wrong


def test_the_table_has_nothing_that_kafka_never_refused() -> None:
    known = {(api, kind) for api, kind, _ in measured_refusals()}
    extra = {(api, kind) for api, kinds in OPERATIONS.items() for kind in kinds if api not in NOT_MEASURED} - known
    assert not extra


@pytest.mark.parametrize(
    ("api", "purpose", "operation"),
    [
        (ApiKey.METADATA, None, AclOperation.DESCRIBE),
        (ApiKey.METADATA, AclOperation.READ, AclOperation.READ),
        (ApiKey.METADATA, AclOperation.DESCRIBE_CONFIGS, AclOperation.DESCRIBE),
        (ApiKey.FETCH, AclOperation.WRITE, AclOperation.READ),
    ],
)
def test_a_purpose_that_implies_describe_takes_its_place(
    api: ApiKey, purpose: AclOperation | None, operation: AclOperation
) -> None:
    assert needed(api, AclResourceType.TOPIC, purpose) is operation


def test_a_text_names_user_operation_and_resource_and_the_command_that_grants_it() -> None:
    error = refused(
        ApiKey.SHARE_GROUP_HEARTBEAT, ErrorCode.GROUP_AUTHORIZATION_FAILED, ["invoices"], "User:ann", AclOperation.READ
    )
    assert isinstance(error, GroupAuthorizationFailedError)
    assert error.says_remedy
    assert str(error) == (
        "User:ann needs READ on the group invoices (GROUP_AUTHORIZATION_FAILED). Grant it: kafka-groups acls add "
        "--allow User:ann --group invoices --operation READ"
    )


@pytest.mark.parametrize(
    ("right", "principal", "text"),
    [
        (
            NeededRight((AclOperation.WRITE,), AclResourceType.TOPIC, ("a", "b")),
            None,
            (
                "This client needs WRITE on the topics a, b ({}). Grant it: kafka-groups acls add --allow User:NAME"
                " --topic a --topic b --operation WRITE"
            ),
        ),
        (
            NeededRight((AclOperation.ALTER,), AclResourceType.CLUSTER),
            "User:ann",
            (
                "User:ann needs ALTER on the cluster ({}). Grant it: kafka-groups acls add --allow User:ann --cluster"
                " --operation ALTER"
            ),
        ),
        (
            NeededRight((AclOperation.READ, AclOperation.WRITE), AclResourceType.TOPIC, ("app-",), is_prefix=True),
            "User:CN=ann b,O=x",
            (
                "User:CN=ann b,O=x needs READ and WRITE on the topics whose names begin with app- ({}). Grant it:"
                " kafka-groups acls add --allow 'User:CN=ann b,O=x' --topic app- --prefix --operation READ"
                " --operation WRITE"
            ),
        ),
        (
            NeededRight((AclOperation.DESCRIBE,), AclResourceType.TOPIC),
            "User:ann",
            (
                "User:ann needs DESCRIBE on each of the topics of the group ({}). Grant it: kafka-groups acls add"
                " --allow User:ann --topic NAME --operation DESCRIBE"
            ),
        ),
        (
            NeededRight((AclOperation.WRITE,), AclResourceType.TRANSACTIONAL_ID, ("tx 1",)),
            "User:ann",
            (
                "User:ann needs WRITE on the transactional id tx 1 ({}). Grant it: kafka-groups acls add --allow"
                " User:ann --transactional-id 'tx 1' --operation WRITE"
            ),
        ),
    ],
)
def test_a_text_fits_the_resource(right: NeededRight, principal: str | None, text: str) -> None:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert str(missing_rights(code, [right], principal)) == text.format(code.name)


def test_several_rights_are_one_text_with_a_command_for_each() -> None:
    rights = [
        NeededRight((AclOperation.READ,), AclResourceType.TOPIC, ("in",)),
        NeededRight((AclOperation.CREATE,), AclResourceType.TOPIC, ("app-",), is_prefix=True),
    ]
    assert str(missing_rights(ErrorCode.TOPIC_AUTHORIZATION_FAILED, rights, "User:ann")) == (
        "User:ann needs READ on the topic in, and CREATE on the topics whose names begin with app- "
        "(TOPIC_AUTHORIZATION_FAILED). Grant it: kafka-groups acls add --allow User:ann --topic in --operation READ; "
        "kafka-groups acls add --allow User:ann --topic app- --prefix --operation CREATE"
    )


def test_an_explained_error_keeps_its_class_and_its_cause() -> None:
    error = TopicAuthorizationFailedError("no")
    told = explained(error, ApiKey.FETCH, ["orders"], "User:ann")
    assert isinstance(told, TopicAuthorizationFailedError)
    assert told.__cause__ is error
    assert str(told).startswith("User:ann needs READ on the topic orders")


@pytest.mark.parametrize(
    "error",
    [
        UnknownTopicOrPartitionError("gone"),
        KafkaGroupsError("other"),
        error_for(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "not asked by Fetch"),
        refused(ApiKey.FETCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ["told"], None),
    ],
)
def test_other_errors_and_those_that_say_what_to_do_stay(error: KafkaGroupsError) -> None:
    assert explained(error, ApiKey.FETCH, ["orders"], "User:ann") is error


def test_a_refusal_is_an_error_about_a_right_that_the_api_asks_for() -> None:
    assert is_refusal(TopicAuthorizationFailedError(), ApiKey.FETCH)
    assert not is_refusal(GroupAuthorizationFailedError(), ApiKey.FETCH)
    assert not is_refusal(UnknownTopicOrPartitionError(), ApiKey.FETCH)


def test_a_command_at_the_end_of_a_text_gets_no_full_stop() -> None:
    error = refused(ApiKey.FETCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ["orders"], "User:ann")
    assert sentences("handler a", str(error)).endswith("--operation READ")
    assert sentences(str(error), "Retrying").endswith("--operation READ. Retrying.")
