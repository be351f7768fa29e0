import pytest

from kafka_groups.acls import (
    AclBinding,
    AclFilter,
    AclOperation,
    AclPatternType,
    AclPermission,
    AclResourceType,
)
from kafka_groups.errors import ConfigurationError

BINDING = AclBinding(
    AclResourceType.TOPIC,
    "orders",
    AclPatternType.LITERAL,
    "User:ann",
    "*",
    AclOperation.ALTER_CONFIGS,
    AclPermission.ALLOW,
)


@pytest.mark.parametrize("operation", ["alter-configs", "ALTER_CONFIGS", "Alter_Configs"])
def test_text_stands_for_members(operation: str) -> None:
    assert AclBinding("topic", "orders", "Literal", "User:ann", "*", operation, "allow") == BINDING


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"resource_type": "queue"},
            "resource_type='queue': use one of ANY, TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER",
        ),
        ({"pattern_type": "regex"}, "pattern_type='regex': use one of ANY, MATCH, LITERAL, PREFIXED"),
        ({"permission": 3}, "permission=3: use one of ANY, DENY, ALLOW"),
    ],
)
def test_unknown_members_are_refused_with_what_fits(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        AclFilter(**given)
    assert str(caught.value).startswith(message)


def test_any_in_a_filter_is_none() -> None:
    assert AclFilter("any", None, "any", None, None, "any", "any") == AclFilter()
    assert AclFilter(operation=AclOperation.ALL).operation is AclOperation.ALL


@pytest.mark.parametrize("enum_class", [AclResourceType, AclPatternType, AclOperation, AclPermission])
def test_numbers_of_newer_peers_are_unknown(
    enum_class: type[AclResourceType | AclPatternType | AclOperation | AclPermission],
) -> None:
    assert enum_class.of_number(99).name == "UNKNOWN"
    assert [enum_class.of_number(each.value) for each in enum_class] == list(enum_class)


def test_members_are_read_by_their_names() -> None:
    assert f"{AclOperation.READ} on a {AclResourceType.TOPIC}" == "READ on a TOPIC"
