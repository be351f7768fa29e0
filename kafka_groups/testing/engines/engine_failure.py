"""The failure of an engine in a test."""

from typing import Final

__all__ = ["EngineTestError", "ensure", "expect"]

_LONGEST: Final = 300


class EngineTestError(AssertionError):
    """An engine has broken a rule. The text says which one, and in which check."""


def expect(what: str, found: object, expected: object) -> None:
    """Compare what an engine returns with what it should return.

    Args:
        what: What it is, for the error.
        found: What the engine returns.
        expected: What it should return.

    Raises:
        EngineTestError: They differ.
    """
    if found != expected:
        raise EngineTestError(f"{what} should be {_shortened(expected)}, and the engine has {_shortened(found)}")


def ensure(what: str, *, holds: bool) -> None:
    """Check what must hold.

    Args:
        what: What must hold, for the error.
        holds: Whether it does.

    Raises:
        EngineTestError: It does not.
    """
    if not holds:
        raise EngineTestError(f"{what}, which does not hold")


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
