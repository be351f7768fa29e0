"""Golden bytes of classic groups: user data that Kafka Streams 4.3.1 encodes, and what real members exchanged.

`tests/conformance/test_user_data_against_kafka.py` has Java encode the same structures again.
"""

import json
from pathlib import Path
from typing import Final

from attrs import frozen

__all__ = ["CAPTURED", "GOLDEN", "EncodedUserData", "encoded"]

GOLDEN: Final = Path(__file__).parents[2] / "golden" / "streams_user_data.json"
"""The file with the bytes."""

_STORED: Final = json.loads(GOLDEN.read_text(encoding="utf-8"))

CAPTURED: Final[dict[str, bytes]] = {name: bytes.fromhex(data) for name, data in _STORED["captured"].items()}
"""Subscriptions and assignments of Kafka's consumer protocol, as DescribeGroups of a real 4.4.0 returned them."""


@frozen
class EncodedUserData:
    """User data that a class of Kafka Streams has encoded.

    Attributes:
        version: Its version.
        data: Its bytes.
        has_named_topology: Whether a task of it belongs to the named topology "nt".
    """

    version: int
    data: bytes
    has_named_topology: bool


def encoded(structure: str) -> list[EncodedUserData]:
    """All user data of a structure, `SubscriptionInfo` or `AssignmentInfo`."""
    return [
        EncodedUserData(each["version"], bytes.fromhex(each["hex"]), each["named_topology"])
        for each in _STORED["encoded"]
        if each["structure"] == structure
    ]
