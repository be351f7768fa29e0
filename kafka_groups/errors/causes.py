"""The errors that an error follows from. A program can make a circle of them: `raise error from error` does."""

from collections.abc import Iterator

__all__ = ["causes_of"]


def causes_of(error: BaseException | None, *, hidden: bool = False) -> Iterator[BaseException]:
    """Yield an error, then the one that it follows from, and so on, as Python shows them; each of them once.

    Args:
        error: The error; None yields nothing.
        hidden: Yield also those that `from None` hides.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = _before(error, seen, hidden=hidden)


def _before(error: BaseException, seen: set[int], *, hidden: bool) -> BaseException | None:
    """Return the cause of an error. Without one that is new, it is the error that was handled when it was raised."""
    cause = error.__cause__
    if cause is not None and id(cause) not in seen:
        return cause
    # An explicit cause sets __suppress_context__, too, which hides nothing if that cause is the error itself.
    return None if cause is None and error.__suppress_context__ and not hidden else error.__context__
