"""What clients remember of their memberships in a classic group, and names for ids that differ between the clusters."""

import re
from collections import Counter

from attrs import define, field

NOBODY = "nobody"
"""A member id that was never given."""

_GIVEN = re.compile(r"(.+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@define
class Labels:
    """Names for member ids, such as `one#2`: the second id of this client, or of this instance, that was seen.

    Brokers make an id of the client's id, or of the instance id, and a random UUID. A step brings at most one new id,
    so the order in which ids are seen is the same on both sides.
    """

    _labels: dict[str, str] = field(factory=dict)
    _ids: dict[str, str] = field(factory=dict)
    _seen: Counter[str] = field(factory=Counter)

    def of(self, value: str) -> str:
        """The label of a member id. Other strings stay as they are."""
        made = _GIVEN.fullmatch(value)
        if made is None:
            return value
        if value not in self._labels:
            self._seen[made[1]] += 1
            label = f"{made[1]}#{self._seen[made[1]]}"
            self._labels[value], self._ids[label] = label, value
        return self._labels[value]

    def member_id(self, label: str) -> str:
        """The member id that has a label. If there is none, the label itself, which no member has."""
        return self._ids.get(label, label)


@define
class ClassicState:
    """What a client knows of its membership.

    Attributes:
        member_id: Its member id, once it has one.
        generation: The generation that it has joined.
        protocol_type: What it has joined as.
        protocol: The protocol of that generation.
        members: The ids of all members, if it leads.
        phase: `out` until it has joined, `joined` until it has its assignment, then `in`.
        waiting: How many requests of it wait for their responses.
    """

    member_id: str = ""
    generation: int = -1
    protocol_type: str = "consumer"
    protocol: str = "range"
    members: tuple[str, ...] = ()
    phase: str = "out"
    waiting: int = 0
