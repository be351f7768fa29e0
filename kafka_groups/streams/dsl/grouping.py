"""A stream or table that is grouped by key."""

from attrs import frozen

from kafka_groups.streams.dsl.stream_parts import StreamParts

__all__ = ["Grouping"]


@frozen
class Grouping:
    """A stream, or the changes of a table, and how it is grouped.

    Attributes:
        stream: The stream.
        name: Prefix of the repartition topic, or None.
    """

    stream: StreamParts
    name: str | None

    def partitioned(self, word: str, store: str) -> StreamParts:
        """Return the stream whose records an aggregation takes: behind a repartition topic, if needed.

        Args:
            word: The aggregation's operator, for messages.
            store: The aggregation's store, which names the topic if the user did not.
        """
        return self.stream.partitioned(word, self.name or store)
