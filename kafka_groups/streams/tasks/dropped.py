"""The records that a task drops: how many, and warnings about them."""

import logging

from kafka_groups.types import TaskId

__all__ = ["DroppedRecords"]

_log = logging.getLogger(__name__)

_WARNED_COUNTS = frozenset(10**digits for digits in range(19))


class DroppedRecords:
    """Counts records by node and reason, and warns about the 1st, 10th, 100th … of each.

    The intervals are numbers of records, because a task has no clock of its own, and a test's clock may stand still.

    Attributes:
        counts: The number of records by node and reason.
    """

    def __init__(self, task_id: TaskId) -> None:
        self._task_id = task_id
        self.counts: dict[tuple[str, str], int] = {}

    def add(self, node: str, reason: str, topic: str | None, partition: int, offset: int) -> None:
        """Count a record.

        Args:
            node: The node that drops it.
            reason: Why, as a clause about the record. It must not name values, as there is a count for each reason.
            topic: The topic of the record that the task is processing; None in a punctuation.
            partition: Its partition.
            offset: Its offset.
        """
        count = self.counts[node, reason] = self.counts.get((node, reason), 0) + 1
        if count in _WARNED_COUNTS:
            place = "a record of a punctuation" if topic is None else f"a record at {topic}-{partition} offset {offset}"
            total = "" if count == 1 else f" ({count} such records so far)"
            _log.warning("%s in task %s dropped %s: %s%s", node, self._task_id, place, reason, total)
