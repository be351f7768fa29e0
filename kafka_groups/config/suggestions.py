"""Suggest names for those that do not exist."""

import difflib
import re
from collections.abc import Iterable

__all__ = ["did_you_mean", "near_names"]

_NOT_A_LETTER = re.compile(r"[^a-z0-9]")


def near_names(spelling: str, names: Iterable[str], *, most: int = 3, cutoff: float = 0.75) -> list[str]:
    """Return the names that resemble a spelling, the nearest first. Case, dots and underscores do not count.

    Args:
        spelling: A name that does not exist.
        names: The names that exist.
        most: The most names to return.
        cutoff: The least similarity, from 0 to 1.
    """
    plain = {_plain(name): name for name in names}
    return [plain[name] for name in difflib.get_close_matches(_plain(spelling), plain, n=most, cutoff=cutoff)]


def did_you_mean(names: Iterable[str]) -> str:
    """Return a question that suggests names."""
    return f"Did you mean {' or '.join(map(repr, names))}?"


def _plain(name: str) -> str:
    return _NOT_A_LETTER.sub("", name.lower())
