from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.acls import AclBinding
from kafka_groups.client.calls.questions import COORDINATORS, LEADERS, Question
from kafka_groups.client.calls.refusals import explained_results
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    KafkaGroupsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.types import TopicPartition

TOPIC, GROUP = TopicAuthorizationFailedError, GroupAuthorizationFailedError


def nothing(*_: Any) -> Mapping[Any, Any]:
    return {}


def question(api: ApiKey, lookup: Any = None) -> Question[Any, Any]:
    return Question("do it", api, (), nothing, nothing, lookup)


def told(asked: Question[Any, Any], key: object, error: KafkaGroupsError) -> str:
    return str(explained_results(Results({}, {key: error}), asked, "User:ann").errors[key])


@pytest.mark.parametrize(
    ("asked", "key", "error", "text"),
    [
        (question(ApiKey.DELETE_GROUPS, COORDINATORS), "g", GROUP(), "DELETE on the group g"),
        (question(ApiKey.SHARE_GROUP_DESCRIBE, COORDINATORS), "g", TOPIC(), "DESCRIBE on each of the topics of"),
        (question(ApiKey.DELETE_RECORDS, LEADERS), TopicPartition("t", 0), TOPIC(), "DELETE on the topic t"),
        (question(ApiKey.WRITE_TXN_MARKERS, LEADERS), TopicPartition("t", 0), TOPIC(), "DESCRIBE on the topic t"),
        (question(ApiKey.CREATE_TOPICS), "t", TOPIC(), "CREATE on the topic t"),
        (question(ApiKey.DESCRIBE_CONFIGS), "g", GROUP(), "DESCRIBE_CONFIGS on the group g"),
        (question(ApiKey.CREATE_ACLS), 3, ClusterAuthorizationFailedError(), "ALTER on the cluster"),
    ],
)
def test_the_key_is_the_resource(asked: Question[Any, Any], key: object, error: KafkaGroupsError, text: str) -> None:
    assert told(asked, key, error).startswith(f"User:ann needs {text}")


def test_keys_with_a_name_are_resources_too() -> None:
    key = AclBinding("topic", "t", "literal", "User:x", "*", "read", "allow")
    assert told(question(ApiKey.DESCRIBE_CONFIGS), key, TOPIC()).startswith(
        "User:ann needs DESCRIBE_CONFIGS on the topic t"
    )


def test_parts_of_a_key_are_explained() -> None:
    asked = question(ApiKey.ALTER_SHARE_GROUP_OFFSETS, COORDINATORS)
    parts: Results[Any, None] = Results({}, {TopicPartition("t", 0): TOPIC(), "u": TOPIC()})
    found = explained_results(Results({"g": parts}), asked, "User:ann").values["g"]
    assert str(found.errors[TopicPartition("t", 0)]).startswith("User:ann needs READ on the topic t ")
    assert str(found.errors["u"]).startswith("User:ann needs READ on the topic u ")


def test_other_errors_stay() -> None:
    error = UnknownTopicOrPartitionError("gone")
    asked = question(ApiKey.DELETE_RECORDS, LEADERS)
    assert explained_results(Results({}, {"t": error}), asked, None).errors["t"] is error
