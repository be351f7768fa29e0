"""Arguments of the wrong type, and lists of names and stores."""

from collections.abc import Iterable
from types import UnionType

from kafka_groups.streams.state.stores import StoreDefinition

__all__ = ["check_kind", "listed", "listed_stores"]


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
