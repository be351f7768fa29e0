"""Checks of the functions that a program gives to operators, at the call that gives them."""

from collections.abc import Iterable

from kafka_groups.functions import idle_kind

__all__ = ["check_functions", "check_methods"]


def check_functions(operator: str, *, yields: bool = False, **functions: object) -> None:
    """Refuse functions that cannot be called, or whose call gives no value.

    Args:
        operator: The operator, for the error.
        yields: Whether they may be generator functions, because the operator takes several results.
        functions: The functions by the names of their arguments. None is one that was left out.

    Raises:
        TypeError: One is not callable, is declared with `async def`, or is a generator function.
    """
    for name, function in functions.items():
        if function is None:
            continue
        if not callable(function):
            raise TypeError(f"{operator}: {name}={function!r} is not callable. Give a function.")
        kind = idle_kind(function)
        if kind is None or (yields and "yield" in kind):
            continue
        remedy = "Return the value" if "yield" in kind else "Declare it with def, and await nothing in it"
        raise TypeError(f"{operator}: {name}={function!r} is {kind}, so a call gives no value. {remedy}.")


def check_methods(place: str, owner: object, names: Iterable[str], *, instead_of_yield: str = "Do the work") -> None:
    """Refuse an object, or a class of objects, with a method whose call does nothing.

    Args:
        place: Where it was given, for the error.
        owner: The object or the class.
        names: The names of the methods.
        instead_of_yield: What a method does that is not a generator function.

    Raises:
        TypeError: A method is missing, is declared with `async def`, or is a generator function.
    """
    kind = owner if isinstance(owner, type) else type(owner)
    for name in names:
        method = getattr(owner, name, None)
        if not callable(method):
            raise TypeError(f"{place}: {kind.__name__} has no method {name!r}. Define it.")
        idle = idle_kind(method)
        if idle is not None:
            remedy = instead_of_yield if "yield" in idle else "Declare it with def, and await nothing in it"
            raise TypeError(
                f"{place}: the method {name!r} of {kind.__name__} is {idle}, so a call does nothing. {remedy}."
            )
