"""The topics whose numbers of partitions a leader watches after its assignment."""

from collections.abc import Mapping

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.streams_leader.internal_topics import existing_counts
from kafka_groups.client.calls.questions import Asking

__all__ = ["changed_topics", "counts_to_watch"]


async def counts_to_watch(ask: Asking, topology: GroupTopology) -> dict[str, int]:
    """Return the numbers of partitions of the topics that tasks read, for a leader that has not assigned them itself.

    A static member that comes back as leader skips the assignment, and still watches the topics.

    Raises:
        LeadingError: This member may not see a topic.
        KafkaGroupsError: The brokers do not tell now.
    """
    return await existing_counts(ask, sorted({name for each in topology.subtopologies for name in each.read_topics}))


def changed_topics(watched: Mapping[str, int], now: Mapping[str, int]) -> tuple[str, ...]:
    """Return the topics that have another number of partitions than at the assignment, or have vanished, sorted.

    Args:
        watched: The numbers at the assignment (`LedRound.watched`).
        now: The numbers of those topics that exist now.
    """
    return tuple(sorted(name for name, count in watched.items() if now.get(name) != count))
