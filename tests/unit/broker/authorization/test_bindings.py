import pytest

from kafka_groups.acls import AclBinding, AclFilter, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.bindings import AccessControlLists, matches
from tests.support.broker.acls import allow, deny, lists

READ, WRITE = AclOperation.READ, AclOperation.WRITE
PREFIXED, MATCH, LITERAL = AclPatternType.PREFIXED, AclPatternType.MATCH, AclPatternType.LITERAL
TOPIC = AclResourceType.TOPIC


def test_a_binding_made_twice_is_one() -> None:
    acls = lists(allow(READ), allow(READ), allow(WRITE))
    assert list(acls) == [allow(READ), allow(WRITE)]
    assert list(acls.with_changes([allow(READ)])) == [allow(READ), allow(WRITE)]


def test_removed_bindings_are_gone_and_older_lists_keep_them() -> None:
    before = lists(allow(READ), allow(READ, "posts"), deny(WRITE))
    after = before.with_changes([], [allow(READ), allow(READ, "posts"), allow(READ, "never made")])
    assert list(after) == [deny(WRITE)]
    assert set(before) == {allow(READ), allow(READ, "posts"), deny(WRITE)}
    assert allow(READ) in before
    assert allow(READ) not in after


def test_what_is_removed_and_made_at_once_is_there() -> None:
    assert list(lists(allow(READ)).with_changes([allow(READ)], [allow(READ)])) == [allow(READ)]


def test_bindings_apply_by_name_by_wildcard_and_by_prefix() -> None:
    applying = [allow(READ), allow(READ, "*"), allow(READ, "o", PREFIXED), allow(READ, "orders", PREFIXED)]
    others = [
        allow(READ, "order"),
        allow(READ, "ord*"),
        allow(READ, "*", PREFIXED),
        allow(READ, "orders2", PREFIXED),
        allow(READ, of=AclResourceType.GROUP),
    ]
    assert list(lists(*others, *applying).applying_to(TOPIC, "orders")) == applying


def test_a_resource_called_like_the_wildcard_has_each_binding_once() -> None:
    assert list(lists(allow(READ, "*")).applying_to(TOPIC, "*")) == [allow(READ, "*")]


def test_there_are_no_bindings_at_first() -> None:
    assert list(AccessControlLists()) == []


@pytest.mark.parametrize(
    ("wanted", "binding", "expected"),
    [
        (AclFilter(), allow(READ), True),
        (AclFilter(TOPIC), allow(READ), True),
        (AclFilter(AclResourceType.GROUP), allow(READ), False),
        (AclFilter(name="orders"), allow(READ), True),
        (AclFilter(name="orders"), allow(READ, "orders", PREFIXED), True),
        (AclFilter(name="orders"), allow(READ, "ord", PREFIXED), False),
        (AclFilter(name="orders"), allow(READ, "*"), False),
        (AclFilter(name="orders", pattern_type=LITERAL), allow(READ), True),
        (AclFilter(name="orders", pattern_type=LITERAL), allow(READ, "orders", PREFIXED), False),
        (AclFilter(name="orders", pattern_type=PREFIXED), allow(READ), False),
        (AclFilter(pattern_type=PREFIXED), allow(READ), False),
        (AclFilter(name="orders", pattern_type=MATCH), allow(READ), True),
        (AclFilter(name="orders", pattern_type=MATCH), allow(READ, "*"), True),
        (AclFilter(name="orders", pattern_type=MATCH), allow(READ, "ord", PREFIXED), True),
        (AclFilter(name="orders", pattern_type=MATCH), allow(READ, "*", PREFIXED), False),
        (AclFilter(name="orders", pattern_type=MATCH), allow(READ, "ord"), False),
        (AclFilter(pattern_type=MATCH), allow(READ, "ord", PREFIXED), True),
        (AclFilter(principal="User:ann"), allow(READ), True),
        (AclFilter(principal="User:ann"), allow(READ, who="User:*"), False),
        (AclFilter(host="*"), allow(READ), True),
        (AclFilter(host="127.0.0.1"), allow(READ), False),
        (AclFilter(operation=AclOperation.DESCRIBE), allow(READ), False),
        (AclFilter(operation=READ), allow(AclOperation.ALL), False),
        (AclFilter(permission=AclPermission.DENY), allow(READ), False),
        (AclFilter(permission=AclPermission.DENY), deny(READ), True),
    ],
)
def test_filters_compare_what_they_name(wanted: AclFilter, binding: AclBinding, expected: bool) -> None:
    assert matches(wanted, binding) is expected
