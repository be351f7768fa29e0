"""The topics in the metadata that members of a consumer group send with JoinGroup."""

import struct
from collections.abc import Iterable

__all__ = ["CONSUMER", "subscribed_topics"]

CONSUMER = "consumer"
"""The protocol type of consumers. The coordinator reads the metadata of no other type."""

_VERSION = struct.Struct(">h")
_COUNT = struct.Struct(">i")
_LENGTH = struct.Struct(">h")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics that members subscribe to, or None if one of the subscriptions cannot be read."""
    try:
        return frozenset(topic for each in subscriptions for topic in _topics(each))
    except (struct.error, UnicodeDecodeError, ValueError):
        return None


def _topics(subscription: bytes) -> list[str]:
    """Read the topics of a subscription. They come first in every version; what follows is not read."""
    _VERSION.unpack_from(subscription)
    at = _VERSION.size
    (count,) = _COUNT.unpack_from(subscription, at)
    at += _COUNT.size
    topics = []
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(subscription, at)
        at += _LENGTH.size
        if not 0 <= length <= len(subscription) - at:
            raise ValueError(length)
        topics.append(subscription[at : at + length].decode())
        at += length
    return topics
