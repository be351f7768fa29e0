"""The progress of a share group on a partition."""

from attrs import frozen

__all__ = ["GroupProgress"]


@frozen
class GroupProgress:
    """The progress of a group on a partition, all members together.

    Attributes:
        start_offset: The oldest offset that no member has finished.
        finished: How many records behind it are finished: accepted, rejected or archived.
        end_offset: The end of the records that can be delivered: of the log, or before the first open transaction.
    """

    start_offset: int
    finished: int
    end_offset: int
