"""Topologies of streams groups in runs in lock-step, by name: usual, troubled and invalid ones."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from attrs import evolve

from kafka_groups.protocol.messages.streams_group_parts import StreamsSubtopology, StreamsTopicInfo
from tests.support.members.streams_topologies import internal, subtopology, together

Name = Callable[[str], str]
"""Returns the name of a topic on the clusters, for its name in the run."""
Subtopologies = tuple[StreamsSubtopology, ...]

_DELETE, _COMPACT = {"cleanup.policy": "delete"}, {"cleanup.policy": "compact"}
WORDS, COUNTS, STORE, MORE = "words-repartition", "counts-changelog", "store-changelog", "more-repartition"


def _changelog(name: str) -> StreamsTopicInfo:
    return internal(name, configs=_COMPACT)


def _repartition(name: str, partitions: int = 0) -> StreamsTopicInfo:
    return internal(name, partitions, configs=_DELETE)


def _plain(name: Name) -> Subtopologies:
    return (subtopology("0", sources=(name("t"),)),)


def _stateful(name: Name) -> Subtopologies:
    return (subtopology("0", sources=(name("t"), name("u")), changelogs=(_changelog(name(STORE)),)),)


def _counting(name: Name) -> Subtopologies:
    return (
        subtopology("0", sources=(name("t"),), sinks=(name(WORDS),)),
        subtopology("1", repartitions=(_repartition(name(WORDS)),), changelogs=(_changelog(name(COUNTS)),)),
    )


def _independent(name: Name) -> Subtopologies:
    """Two parts that have nothing to do with each other, one of them without state."""
    return (
        subtopology("0", sources=(name("t"),), changelogs=(_changelog(name(STORE)),)),
        subtopology("1", sources=(name("u"),)),
    )


def _together(name: Name) -> Subtopologies:
    sources = (name("t"), name("u"))
    return (subtopology("0", sources=sources, changelogs=(_changelog(name(STORE)),), together=(together(0, 1),)),)


def _joined(name: Name) -> Subtopologies:
    """A stream is repartitioned so that it can be joined with a topic."""
    return (
        subtopology("0", sources=(name("t"),), sinks=(name(WORDS),)),
        subtopology(
            "1",
            sources=(name("u"),),
            repartitions=(_repartition(name(WORDS)),),
            changelogs=(_changelog(name(COUNTS)),),
            together=(together(0, repartitions=(0,)),),
        ),
    )


def _chain(name: Name) -> Subtopologies:
    return (
        subtopology("0", sources=(name("t"),), sinks=(name(WORDS),)),
        subtopology("1", sources=(name("u"),), repartitions=(_repartition(name(WORDS), 3),), sinks=(name(MORE),)),
        subtopology("2", repartitions=(_repartition(name(MORE)),), changelogs=(_changelog(name(COUNTS)),)),
    )


def _table(name: Name) -> Subtopologies:
    """The source topic is the changelog, as in optimised topologies."""
    return (subtopology("0", sources=(name("t"),), changelogs=(_changelog(name("t")),)),)


USUAL: Mapping[str, Callable[[Name], Subtopologies]] = MappingProxyType({
    "plain": _plain,
    "stateful": _stateful,
    "counting": _counting,
    "independent": _independent,
    "together": _together,
    "joined": _joined,
    "chain": _chain,
    "table": _table,
})  # fmt: skip
"""They work as long as the topics are as they should be."""


def _unsourced(name: Name) -> Subtopologies:
    return (subtopology("0", sources=(name("t"), name("nothing")), changelogs=(_changelog(name(STORE)),)),)


def _unequal(name: Name) -> Subtopologies:
    """A repartition topic that is joined with another topic has a fixed number of partitions, the wrong one."""
    first, second = _joined(name)
    return (first, evolve(second, repartition_source_topics=(_repartition(name(WORDS), 5),)))


def _unreal(name: Name) -> Subtopologies:
    """One broker cannot have three replicas."""
    return (
        subtopology("0", sources=(name("t"),), changelogs=(evolve(_changelog(name("big")), replication_factor=3),)),
    )


UNREAL = "unreal"
TROUBLED: Mapping[str, Callable[[Name], Subtopologies]] = MappingProxyType({
    "unsourced": _unsourced,
    "unequal": _unequal,
    UNREAL: _unreal,
})  # fmt: skip
"""They are accepted, but do not work."""


def _circle(name: Name) -> Subtopologies:
    return (
        subtopology("0", repartitions=(_repartition(name(WORDS)),), sinks=(name(MORE),)),
        subtopology("1", repartitions=(_repartition(name(MORE)),), sinks=(name(WORDS),)),
    )


def _unwritten(name: Name) -> Subtopologies:
    return (subtopology("0", sources=(name("t"),), repartitions=(_repartition(name(WORDS)),)),)


def _by_regex(_name: Name) -> Subtopologies:
    return (StreamsSubtopology(subtopology_id="0", source_topic_regex=("t.*",)),)


def _twice(name: Name) -> Subtopologies:
    return (*_plain(name), subtopology("0", sources=(name("u"),)))


def _fixed_changelog(name: Name) -> Subtopologies:
    return (subtopology("0", sources=(name("t"),), changelogs=(internal(name(STORE), 2),)),)


def _bad_name(_name: Name) -> Subtopologies:
    return (subtopology("0", sources=("not a topic",)),)


def _of_kafka(_name: Name) -> Subtopologies:
    return (subtopology("0", sources=("__consumer_offsets",)),)


def _bad_position(name: Name) -> Subtopologies:
    return (subtopology("0", sources=(name("t"),), together=(together(0, 1),)),)


def _negative_position(name: Name) -> Subtopologies:
    return (subtopology("0", sources=(name("t"),), together=(together(0, repartitions=(-1,)),)),)


def _reads_nothing(_name: Name) -> Subtopologies:
    return (subtopology("0"),)


def _empty(_name: Name) -> Subtopologies:
    return ()


INVALID: Mapping[str, Callable[[Name], Subtopologies]] = MappingProxyType({
    "circle": _circle,
    "unwritten": _unwritten,
    "by regex": _by_regex,
    "twice": _twice,
    "fixed changelog": _fixed_changelog,
    "bad name": _bad_name,
    "of Kafka": _of_kafka,
    "bad position": _bad_position,
    "negative position": _negative_position,
    "reads nothing": _reads_nothing,
    "empty": _empty,
})  # fmt: skip
"""Kafka refuses most of them."""

MALFORMED = frozenset({"bad position", "negative position", "twice"})
"""Those that Kafka does not check: it fails while it reads them."""

TOPOLOGIES = {**USUAL, **TROUBLED, **INVALID}
