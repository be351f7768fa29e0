"""Bad input for calls about ACLs is refused before anything is sent, with the value and the remedy."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.acls import AclBinding, AclFilter
from kafka_groups.admin.rules.acl_arguments import checked_acl_filter, checked_acl_filters, checked_bindings
from kafka_groups.errors import ConfigurationError

BINDING = AclBinding("topic", "orders", "literal", "User:ann", "*", "read", "allow")
EXAMPLE = "AclBinding('topic', 'orders', 'literal', 'User:ann', '*', 'read', 'allow')"


@pytest.mark.parametrize(
    ("check", "given", "message"),
    [
        (checked_bindings, "orders", f"bindings='orders': give a list, such as [{EXAMPLE}]"),
        (checked_bindings, [], "bindings is empty: give at least one AclBinding"),
        (checked_bindings, [AclFilter()], "bindings: AclFilter("),
        (checked_bindings, [evolve(BINDING, name="")], f"bindings: a text of {evolve(BINDING, name='')}: '' is not a"),
        (
            checked_bindings,
            [evolve(BINDING, operation="any")],
            f"operation=ANY of {evolve(BINDING, operation='any')}: use an operation, or ALL",
        ),
        (
            checked_bindings,
            [evolve(BINDING, pattern_type="match")],
            f"pattern_type=MATCH of {evolve(BINDING, pattern_type='match')}: use LITERAL or PREFIXED",
        ),
        (
            checked_bindings,
            [evolve(BINDING, permission="any")],
            f"permission=ANY of {evolve(BINDING, permission='any')}: use ALLOW or DENY",
        ),
        (
            checked_bindings,
            [evolve(BINDING, resource_type="any")],
            f"resource_type=ANY of {evolve(BINDING, resource_type='any')}: an ACL has one type",
        ),
        (checked_acl_filters, [], "filters is empty: give at least one AclFilter"),
        (checked_acl_filters, [BINDING], f"filters: {BINDING!r} is not an AclFilter: give one, such as AclFilter("),
        (checked_acl_filters, [AclFilter(host="")], "filters: a text of "),
    ],
)
def test_refusals_name_the_value_and_the_remedy(check: Callable[[Any], object], given: object, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check(given)
    assert str(caught.value).startswith(message)


def test_what_is_right_is_passed_on_once() -> None:
    denied = evolve(BINDING, permission="deny")
    assert checked_bindings([BINDING, denied, BINDING]) == (BINDING, denied)
    assert checked_acl_filters([AclFilter(), AclFilter("any")]) == (AclFilter(),)
    assert checked_acl_filter(AclFilter(name="orders"), "wanted") == AclFilter(name="orders")
