"""Transactions that a real Kafka ended without their markers, which no client can do anything about.

Kafka 4.3 and 4.4 take a partition without a leader for a deleted one when a transaction ends, and the only broker of a
cluster has such partitions while it stops, and when it comes back after a crash. Then readers of committed records wait
for ever, although the producer was told that it has committed. With a producer of librdkafka alone, on a machine that
did other work, it came when the broker was killed during a commit: in 8 of 14 runs on Kafka 4.4.0, in 5 of 10 on 4.3.1,
and in none of 10 on 4.2.1.
"""

from collections.abc import Iterable

from kafka_groups.admin import KafkaAdmin
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until

__all__ = ["lost_markers"]

_IN_PROGRESS = ("Ongoing", "PrepareCommit", "PrepareAbort")
_PATIENCE_S = 60.0


def lost_markers(admin: KafkaAdmin, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions with an open transaction that no coordinator knows.

    Waits until no transaction is in progress: its producers must have ended, so that those they left are timed out.
    """

    def is_all_ended() -> bool:
        found = admin.list_transactions(states=_IN_PROGRESS)
        return not found.transactions and not found.errors

    wait_until(is_all_ended, _PATIENCE_S)
    found = admin.describe_producers(partitions)
    return [partition for partition in found if any(it.transaction_start_offset is not None for it in found[partition])]
