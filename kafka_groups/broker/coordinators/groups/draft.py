"""A group as it will be after the records that an operation has created so far."""

from typing import Any, Generic, Protocol, Self, TypeVar

__all__ = ["GroupDraft"]


class _Overlaid(Protocol):
    def overlaid(self) -> Self: ...

    def replay(self, record: Any, /) -> None: ...


G = TypeVar("G", bound=_Overlaid)
R = TypeVar("R")


class GroupDraft(Generic[G, R]):
    """A group with the records of an operation laid over it. The group itself does not change, and is not copied.

    Each record is replayed on the draft at once, with the same `replay` that will change the group itself. The steps of
    an operation therefore see each other's effects, and the group ends in the same state as the draft.

    Attributes:
        group: The group with the records.
        records: The records so far.
    """

    def __init__(self, group: G) -> None:
        self.group = group.overlaid()
        self.records: list[R] = []

    def write(self, record: R) -> None:
        """Add a record."""
        self.group.replay(record)
        self.records.append(record)
