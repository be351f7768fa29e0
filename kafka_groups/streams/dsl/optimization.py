"""The optimizations of a topology that a builder can be asked for."""

from enum import Flag, auto

__all__ = ["Optimization"]


class Optimization(Flag):
    """Ways to build a topology with fewer topics or stores (`topology.optimization` in Kafka Streams).

    Each changes the topics and stores of an application, so decide before it has state, or reset it.

    Attributes:
        NONE: The topology is as you wrote it.
        SOURCE_TOPICS_AS_CHANGELOGS: Tables that are read from topics are restored from these, and have no changelog of
            their own. Topics must be compacted then.
        MERGED_REPARTITIONS: What needs the records of one new key shares a repartition topic. Filters in between work
            after it.
        SINGLE_STORE_SELF_JOINS: An inner join of a stream with itself has one store in place of two.
        ALL: All of them.
    """

    NONE = 0
    SOURCE_TOPICS_AS_CHANGELOGS = auto()
    MERGED_REPARTITIONS = auto()
    SINGLE_STORE_SELF_JOINS = auto()
    ALL = SOURCE_TOPICS_AS_CHANGELOGS | MERGED_REPARTITIONS | SINGLE_STORE_SELF_JOINS
