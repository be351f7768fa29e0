import pytest

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclResourceType
from kafka_groups.broker.authorization.decisions import AclDecisions
from tests.support.broker.acls import allow, deny, lists

TOPIC, PREFIXED = AclResourceType.TOPIC, AclPatternType.PREFIXED
READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = map(AclOperation, range(3, 9))
ALL, DESCRIBE_CONFIGS, ALTER_CONFIGS = AclOperation.ALL, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS


def asked(decisions: AclDecisions, operation: AclOperation, name: str = "orders") -> bool:
    return decisions.is_allowed("User:ann", "10.1.2.3", operation, TOPIC, name)


@pytest.mark.parametrize(
    ("bindings", "operation", "expected"),
    [
        ([], READ, False),
        ([allow(READ)], READ, True),
        ([allow(ALL)], READ, True),
        ([allow(READ)], WRITE, False),
        ([allow(READ, "*")], READ, True),
        ([allow(READ, "ord", PREFIXED)], READ, True),
        ([allow(READ, "ord")], READ, False),
        ([allow(READ, of=AclResourceType.GROUP)], READ, False),
        ([allow(READ, who="User:*")], READ, True),
        ([allow(READ, who="User:bob")], READ, False),
        ([allow(READ, host="10.1.2.3")], READ, True),
        ([allow(READ, host="10.1.2.4")], READ, False),
        ([allow(READ, host="10.0.0.0/8")], READ, True),
        ([allow(READ, host="11.0.0.0/8")], READ, False),
        *(([allow(implying)], DESCRIBE, True) for implying in (READ, WRITE, DELETE, ALTER)),
        ([allow(CREATE)], DESCRIBE, False),
        ([allow(ALTER_CONFIGS)], DESCRIBE_CONFIGS, True),
        ([allow(ALTER_CONFIGS)], DESCRIBE, False),
        ([allow(ALL), deny(READ)], READ, False),
        ([allow(ALL), deny(READ)], DESCRIBE, True),
        ([allow(READ), deny(DESCRIBE)], DESCRIBE, False),
        ([allow(READ), deny(DESCRIBE)], READ, True),
        ([allow(READ), deny(ALL, "*", who="User:*")], READ, False),
        ([allow(READ), deny(READ, who="User:bob")], READ, True),
        ([allow(READ), deny(READ, host="10.1.2.4")], READ, True),
    ],
)
def test_decisions(bindings: list[AclBinding], operation: AclOperation, expected: bool) -> None:
    assert asked(AclDecisions(lists(*bindings)), operation) is expected


def test_a_super_user_may_do_what_is_denied() -> None:
    decisions = AclDecisions(lists(deny(ALL, "*", who="User:*")), frozenset({"User:ann"}))
    assert asked(decisions, READ)
    assert not decisions.is_allowed("User:bob", "10.1.2.3", READ, TOPIC, "orders")


@pytest.mark.parametrize(
    ("bindings", "expected"),
    [([], True), ([allow(READ, who="User:bob")], False), ([allow(READ, "posts")], True), ([allow(READ, "*")], False)],
)
def test_without_acls_of_anybody_everything_is_allowed_if_so_configured(
    bindings: list[AclBinding], expected: bool
) -> None:
    assert asked(AclDecisions(lists(*bindings), allows_without_acls=True), WRITE) is expected


def test_before_kafka_4_4_a_block_of_addresses_is_no_host() -> None:
    assert not asked(AclDecisions(lists(allow(READ, host="10.0.0.0/8")), reads_blocks=False), READ)


@pytest.mark.parametrize(
    ("bindings", "expected"),
    [
        ([], False),
        ([allow(WRITE)], True),
        ([allow(ALL)], True),
        ([allow(READ)], False),
        ([allow(WRITE, of=AclResourceType.GROUP)], False),
        ([allow(WRITE, who="User:bob")], False),
        ([allow(WRITE), deny(WRITE)], False),
        ([allow(WRITE), deny(WRITE, "ord", PREFIXED)], False),
        ([allow(WRITE), deny(WRITE, "orders", PREFIXED)], False),
        ([allow(WRITE), deny(WRITE, "posts")], True),
        ([allow(WRITE, "ord", PREFIXED), deny(WRITE, "ord")], True),
        ([allow(WRITE, "ord", PREFIXED), deny(WRITE, "ord", PREFIXED)], False),
        ([allow(WRITE, "ord", PREFIXED), deny(WRITE, "orders", PREFIXED)], True),
        ([allow(WRITE, "*"), deny(WRITE, "ord", PREFIXED)], True),
        ([allow(WRITE, "*"), deny(ALL, "*")], False),
        ([allow(WRITE, "hardcode")], True),
    ],
)
def test_any_resource_of_a_type(bindings: list[AclBinding], expected: bool) -> None:
    decisions = AclDecisions(lists(*bindings))
    assert decisions.is_allowed_on_any("User:ann", "10.1.2.3", WRITE, TOPIC) is expected
