"""Arguments of the wrong type, and lists of names and stores."""

import re
from collections.abc import Iterable
from types import UnionType

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.streams.state.stores import StoreDefinition

__all__ = ["check_kind", "listed", "listed_stores", "names_or_pattern"]


def listed(operator: str, keyword: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple.

    Raises:
        TypeError: It is one name in place of several, or there is something else among them.
    """
    if isinstance(names, str):
        raise TypeError(f"{operator}: {keyword}={names!r} is one name. Give a list of names, as in [{names!r}].")
    found = tuple(names)
    for each in found:
        if not isinstance(each, str):
            raise TypeError(f"{operator}: {keyword} has {each!r}, which is not a name. Give strings.")
    return found


def listed_stores(operator: str, stores: Iterable[StoreDefinition | str]) -> tuple[StoreDefinition | str, ...]:
    """Return stores as a tuple.

    Raises:
        TypeError: It is one store in place of several, or there is something else among them.
    """
    if isinstance(stores, str | StoreDefinition):
        raise TypeError(f"{operator}: stores={stores!r} is one store. Give several or one in a tuple: stores=(…,).")
    found = tuple(stores)
    for each in found:
        if not isinstance(each, str | StoreDefinition):
            raise TypeError(f"{operator}: stores has {each!r}, which is not a store. Give definitions or names.")
    return found


def names_or_pattern(
    operator: str, topics: tuple[str | re.Pattern[str], ...]
) -> tuple[tuple[str, ...], re.Pattern[str] | None]:
    """Return the names of topics, or the pattern that was given in place of names.

    Raises:
        TopologyError: There are several patterns, or names beside one.
    """
    patterns = [each for each in topics if isinstance(each, re.Pattern)]
    if not patterns:
        return tuple(each for each in topics if not isinstance(each, re.Pattern)), None
    if len(topics) > 1:
        given = ", ".join(map(repr, topics))
        raise TopologyError(
            f"{operator} reads {given}. Give one pattern alone. Join several with '|', or make a stream of each and "
            "merge the streams."
        )
    return (), patterns[0]


def check_kind(argument: str, given: object, kinds: type | UnionType, form: str) -> None:
    """Refuse an argument of another type.

    Args:
        argument: Operator and argument, for the error.
        given: The argument.
        kinds: The types that fit.
        form: These in words.

    Raises:
        TypeError: It is none of them.
    """
    if not isinstance(given, kinds):
        raise TypeError(f"{argument}={given!r} is not {form}.")
