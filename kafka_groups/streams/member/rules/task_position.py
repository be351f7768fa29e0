"""The position of a task's stores, which a member reports to its group."""

from attrs import field, frozen
from attrs.validators import ge, optional

__all__ = ["TaskPosition"]


@frozen
class TaskPosition:
    """The position of a task's stores: sums over the task's changelog partitions.

    Attributes:
        offset: The sum of the offsets up to which the stores were written.
        end_offset: The sum of the changelogs' end offsets; None if they are not known.
        is_running: Whether the task is active and processes records, so that its stores are where its changelogs end.
    """

    offset: int = field(validator=ge(0))
    end_offset: int | None = field(default=None, validator=optional(ge(0)))
    is_running: bool = False

    def is_within(self, lag: int) -> bool:
        """Return whether at most this many records are missing."""
        # A task whose end offset nobody knows never counts as caught up: KIP-1071, "Using cumulative task changelog
        # offsets and cumulative task changelog end offsets".
        return self.end_offset is not None and self.end_offset - self.offset <= lag
