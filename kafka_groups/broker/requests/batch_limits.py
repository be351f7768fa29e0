"""Kafka's limits on partitions and records per request, so that no request can block the brokers."""

from collections.abc import Iterable

from kafka_groups.errors import PolicyViolationError

__all__ = ["check_added_partitions", "check_new_partitions_of_topics", "check_records"]

_MOST_PARTITIONS = 10_000
_MOST_RECORDS = 10_000


def check_new_partitions_of_topics(partitions: Iterable[int]) -> None:
    """Check the partitions of the topics that a request creates, before anything else is looked at.

    Args:
        partitions: The number of each topic. Invalid ones do not count.

    Raises:
        PolicyViolationError: There are more than 10,000 in total.
    """
    if sum(max(number, 0) for number in partitions) > _MOST_PARTITIONS:
        raise PolicyViolationError("Excessively large number of partitions per request.")


def check_records(records: Iterable[int]) -> None:
    """Check how many records Kafka's controller writes for the topics that a request creates.

    Args:
        records: For each topic that can be created one, one for each config, and one for each partition.

    Raises:
        PolicyViolationError: There are more than 10,000 in total.
    """
    if sum(records) > _MOST_RECORDS:
        raise PolicyViolationError("Unable to perform excessively large batch operation.")


def check_added_partitions(added: Iterable[int]) -> None:
    """Check the partitions that a request adds to existing topics.

    Args:
        added: The number for each topic. Negative ones do not count.

    Raises:
        PolicyViolationError: There are more than 10,000 in total.
    """
    if sum(max(number, 0) for number in added) > _MOST_PARTITIONS:
        raise PolicyViolationError("Excessively large number of additional partitions per request.")
