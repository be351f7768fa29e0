"""The rules for topic names in Kafka."""

import re

from kafka_groups.errors import InvalidTopicError

__all__ = ["MAX_TOPIC_NAME_LENGTH", "check_topic_name", "collision_key"]

MAX_TOPIC_NAME_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raise an error if Kafka would refuse a topic name.

    Raises:
        InvalidTopicError: Empty, `.`, `..`, longer than 249 characters, or with characters other than
            ASCII letters, digits, `.`, `_` and `-`.
    """
    # The rules are those of Topic.validate in Kafka.
    if not name:
        raise InvalidTopicError("Topic name is invalid: the empty string is not allowed")
    if name in {".", ".."}:
        raise InvalidTopicError(f"Topic name is invalid: '{name}' is not allowed")
    if len(name) > MAX_TOPIC_NAME_LENGTH:
        raise InvalidTopicError(
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length "
            f"{MAX_TOPIC_NAME_LENGTH}"
        )
    if not _LEGAL.fullmatch(name):
        raise InvalidTopicError(
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'"
        )


def collision_key(name: str) -> str | None:
    """Return what two colliding names have in common, or None if the name cannot collide with another one.

    Kafka's metric names replace "." with "_", so two topics must not differ only in these.
    """
    return name.replace(".", "_") if "." in name or "_" in name else None
