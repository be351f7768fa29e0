"""Checks of ACLs and filters that callers give; each error names the value and what to give instead."""

from collections.abc import Iterable
from typing import Final, TypeVar

from kafka_groups.acls import AclBinding, AclFilter, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.config.places import checked_name
from kafka_groups.errors import ConfigurationError

__all__ = ["checked_acl_filter", "checked_acl_filters", "checked_bindings"]

A = TypeVar("A", AclBinding, AclFilter)

_EXAMPLES: Final = {
    AclBinding: "AclBinding('topic', 'orders', 'literal', 'User:ann', '*', 'read', 'allow')",
    AclFilter: "AclFilter(principal='User:ann')",
}
_PATTERNS: Final = (AclPatternType.LITERAL, AclPatternType.PREFIXED)
_PERMISSIONS: Final = (AclPermission.DENY, AclPermission.ALLOW)


def checked_bindings(bindings: object) -> tuple[AclBinding, ...]:
    """Return ACLs to create, without repeats.

    Raises:
        ConfigurationError: Not a collection of ACLs, an empty one, or a value that only filters may have.
    """
    found = _collected(bindings, "bindings", AclBinding)
    for each in found:
        for name in (each.name, each.principal, each.host):
            checked_name(name, f"bindings: a text of {each}")
        _check_concrete(each)
    return found


def _check_concrete(binding: AclBinding) -> None:
    if binding.resource_type in (AclResourceType.UNKNOWN, AclResourceType.ANY):
        raise ConfigurationError(f"resource_type={binding.resource_type} of {binding}: an ACL has one type")
    if binding.pattern_type not in _PATTERNS:
        raise ConfigurationError(f"pattern_type={binding.pattern_type} of {binding}: use LITERAL or PREFIXED")
    if binding.operation in (AclOperation.UNKNOWN, AclOperation.ANY):
        raise ConfigurationError(f"operation={binding.operation} of {binding}: use an operation, or ALL")
    if binding.permission not in _PERMISSIONS:
        raise ConfigurationError(f"permission={binding.permission} of {binding}: use ALLOW or DENY")


def checked_acl_filters(filters: object) -> tuple[AclFilter, ...]:
    """Return filters without repeats.

    Raises:
        ConfigurationError: Not a collection of filters, an empty one, or a text of a filter that cannot be sent.
    """
    return tuple(checked_acl_filter(each, "filters") for each in _collected(filters, "filters", AclFilter))


def checked_acl_filter(wanted: object, parameter: str) -> AclFilter:
    """Return a filter.

    Raises:
        ConfigurationError: It is something else, or one of its texts cannot be sent.
    """
    if not isinstance(wanted, AclFilter):
        raise ConfigurationError(
            f"{parameter}: {wanted!r} is not an AclFilter: give one, such as {_EXAMPLES[AclFilter]}"
        )
    for text in (wanted.name, wanted.principal, wanted.host):
        if text is not None:
            checked_name(text, f"{parameter}: a text of {wanted}")
    return wanted


def _collected(values: object, parameter: str, kind: type[A]) -> tuple[A, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ConfigurationError(f"{parameter}={values!r}: give a list, such as [{_EXAMPLES[kind]}]")
    found: dict[A, None] = {}
    for each in values:
        if not isinstance(each, kind):
            raise ConfigurationError(
                f"{parameter}: {each!r} is not an {kind.__name__}: give one, such as {_EXAMPLES[kind]}"
            )
        found[each] = None
    if not found:
        raise ConfigurationError(f"{parameter} is empty: give at least one {kind.__name__}")
    return tuple(found)


def _of_another_class(value: object, parameter: str, kind: type[A]) -> ConfigurationError:
    text = f"{parameter}: {value!r} is not an {kind.__name__}: give one, such as {_EXAMPLES[kind]}"
    return ConfigurationError(text)
