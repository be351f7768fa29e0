"""The topics that a leader watches."""

from kafka_groups.admin.rules.streams_leader.watched_topics import TopicChanges, WatchedTopics, read_topics
from kafka_groups.admin.rules.topics import TopicReplicas
from kafka_groups.types import TopicPartition
from tests.unit.admin.rules.streams_leader.scenes import IN, WORD_COUNT, WORDS, group, led, member

RACKS = {0: "a", 1: "b", 2: None}


def topic(*nodes: tuple[int, ...], racks: dict[int, str | None] = RACKS) -> TopicReplicas:
    return TopicReplicas(dict(enumerate(nodes)), racks)


def topics(**counts: int) -> dict[str, TopicReplicas]:
    return {name: topic(*[(0,)] * count) for name, count in counts.items()}


def in_racks(**racks: str | None) -> WatchedTopics:
    """Topics of one partition."""
    known = {name: None if rack is None else frozenset(rack.split()) for name, rack in racks.items()}
    return WatchedTopics(dict.fromkeys(racks, 1), {TopicPartition(name, 0): rack for name, rack in known.items()})


def test_topics_that_have_grown_or_vanished_are_named() -> None:
    watched = WatchedTopics({"a": 1, "b": 2, "c": 3, "d": 4})
    changes = watched.changes(topics(a=1, b=3, d=3, e=1))
    assert changes == TopicChanges(counts=("b", "c", "d"))
    assert changes.reason == "the partitions of b, c, d have changed"
    assert not watched.changes(topics(a=1, b=2, c=3, d=4))


def test_all_topics_that_tasks_read_are_watched_after_an_assignment() -> None:
    assert led(group(member("m"))).watched == WatchedTopics({IN: 2, WORDS: 2})


def test_topics_that_were_just_created_have_not_changed() -> None:
    done = led(group(member("m"), counts={IN: 2}))
    assert not done.watched.changes({IN: topic((0,), (0,)), WORDS: topic((0,), (0,))})


def test_partitions_in_other_racks_are_a_change() -> None:
    watched = in_racks(same="a", moved="a", more="a", lost="a b", none="", new=None)
    now = {
        "same": topic((0,)),
        "moved": topic((1,)),
        "more": topic((0, 1)),
        "lost": topic((0,)),
        "none": topic((2,)),
        "new": topic((2,)),
    }
    changes = watched.changes(now)
    assert changes == TopicChanges(racks=("lost", "more", "moved", "new"))
    assert changes.reason == "the replicas of lost, more, moved, new are in other racks now"


def test_a_broker_that_is_restarted_is_no_change() -> None:
    assert not in_racks(t="a b").changes({"t": topic((0, 1), racks={0: "a"})})


def test_a_leader_that_skips_the_assignment_watches_topics_as_they_are() -> None:
    assert read_topics(WORD_COUNT) == (WORDS, IN)
    now = {"t": topic((0, 1), (2,))}
    assert WatchedTopics.as_they_are(now, uses_racks=False) == WatchedTopics({"t": 2})
    racks = {TopicPartition("t", 0): frozenset("ab"), TopicPartition("t", 1): frozenset[str]()}
    watched = WatchedTopics.as_they_are(now, uses_racks=True)
    assert watched == WatchedTopics({"t": 2}, racks)
    assert sorted(watched.topics) == ["t"]
