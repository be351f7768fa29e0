"""Texts of errors. The classes of users may raise in `__str__`, or have no end."""

__all__ = ["LONGEST_TEXT", "named", "text_of"]

LONGEST_TEXT = 2_000
"""The most characters of an error's text, and of a header of a dead letter."""


def named(error: BaseException) -> str:
    """Return the class and the text of an error, at most 2,000 characters."""
    return f"{type(error).__name__}: {text_of(error)}"


def text_of(error: BaseException) -> str:
    """Return the text of an error, at most 2,000 characters."""
    try:
        text = str(error)
    except Exception as fault:  # whatever a user's class does there
        return f"its text cannot be shown, because str() of it raises {type(fault).__name__}"
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
