"""The types of groups."""

import enum

from attrs import frozen

__all__ = ["CoordinatedGroup", "GroupType"]


class GroupType(enum.StrEnum):
    """A type of group, with the name that ListGroups uses."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


@frozen
class CoordinatedGroup:
    """An entry of ListGroups."""

    group_id: str
    type: GroupType
    protocol_type: str
    state: str
