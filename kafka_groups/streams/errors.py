"""Errors of streams applications."""

from kafka_groups.errors import KafkaGroupsError

__all__ = ["StreamsError"]


class StreamsError(KafkaGroupsError):
    """A record could not be processed, or a processor asked for something that does not exist.

    The message names the node, the task and the record. The exception of your own code is its cause.
    """
