"""Which topics the patterns of an application mean."""

import re

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources

SOURCES = PatternSources((re.compile("b.*"), re.compile("a|ab")), lambda _: GroupTopology(()))


def test_whole_names_match() -> None:
    assert SOURCES.matched(["a", "ab", "abc", "b", "bc", "cb"]) == {"a", "ab", "b", "bc"}


def test_patterns_without_topics_are_named_by_their_texts() -> None:
    assert SOURCES.without_topics(iter(["b1", "abc"])) == ("a|ab",)
    assert SOURCES.without_topics([]) == ("a|ab", "b.*")
    assert SOURCES.without_topics(["a", "b"]) == ()
