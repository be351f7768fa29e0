"""Checks of the functions that a program gives to operators, at the call that gives them."""

from kafka_groups.functions import idle_kind

__all__ = ["check_functions"]


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
