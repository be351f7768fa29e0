"""Checks of changes of users that callers give; each error names the value and what to give instead."""

from collections.abc import Iterable
from typing import Final

from kafka_groups.admin.rules.user_questions import UserChange
from kafka_groups.admin.rules.user_values import (
    LEAST_ITERATIONS,
    MOST_ITERATIONS,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka_groups.config.places import checked_name, is_offset
from kafka_groups.config.readers import is_utf8
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.sasl.scram import MECHANISM_NUMBERS

__all__ = ["checked_user_changes"]

_EXAMPLE: Final = "UserScramCredentialUpsertion('ann', 'SCRAM-SHA-256', password)"


def checked_user_changes(changes: object) -> tuple[UserChange, ...]:
    """Return changes of users. No error shows a password.

    Raises:
        ConfigurationError: Not a collection of changes, an empty one, one with an invalid value, or two changes of the
            same user and mechanism.
    """
    if isinstance(changes, str | bytes) or not isinstance(changes, Iterable):
        raise ConfigurationError(f"changes={changes!r}: give a list, such as [{_EXAMPLE}]")
    found = tuple(map(_checked, changes))
    if not found:
        raise ConfigurationError(f"changes is empty: give at least one, such as {_EXAMPLE}")
    _check_once(found)
    return found


def _checked(change: object) -> UserChange:
    if not isinstance(change, UserScramCredentialUpsertion | UserScramCredentialDeletion):
        raise ConfigurationError(
            f"changes: {change!r} is neither a UserScramCredentialUpsertion nor a UserScramCredentialDeletion: give"
            f" one, such as {_EXAMPLE}"
        )
    checked_name(change.user, "changes: the user")
    if change.mechanism not in MECHANISM_NUMBERS:
        known = " or ".join(MECHANISM_NUMBERS)
        raise ConfigurationError(
            f"changes: the mechanism {change.mechanism!r} of {change.user} is unknown: use {known}"
        )
    if isinstance(change, UserScramCredentialUpsertion):
        _check_password(change)
    return change


def _check_password(change: UserScramCredentialUpsertion) -> None:
    password: object = change.password
    if not isinstance(password, str) or not password or not is_utf8(password):
        raise ConfigurationError(f"changes: the password of {change.user} is empty or not text: give text")
    iterations: object = change.iterations
    if not is_offset(iterations) or not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        raise ConfigurationError(
            f"changes: {iterations!r} iterations of {change.user} are invalid: use a whole number from"
            f" {LEAST_ITERATIONS:,} to {MOST_ITERATIONS:,}"
        )


def _check_once(changes: Iterable[UserChange]) -> None:
    seen: set[tuple[str, str]] = set()
    for each in changes:
        if (each.user, each.mechanism) in seen:
            raise ConfigurationError(
                f"changes: {each.user} has two changes of {each.mechanism}: give one for each user and mechanism"
            )
        seen.add((each.user, each.mechanism))
