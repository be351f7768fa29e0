"""Regular expressions that members of a consumer group subscribe to: the coordinator finds the topics that match.

As in Kafka, a heartbeat does not wait for that. An operation of its own follows, which may increase the group epoch. If
there are many topics or costly expressions, it takes several turns, so that the broker can serve others in between.
"""

from collections.abc import Callable, Iterable, Iterator

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, ConsumerGroup, regex_of
from kafka_groups.broker.coordinators.groups.consumer.records import ResolvedRegex
from kafka_groups.broker.coordinators.groups.consumer.subscriptions import bump_group_epoch
from kafka_groups.broker.coordinators.groups.topic_patterns import compile_pattern
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.protocol.coordinator_records.consumer_group import ConsumerGroupRegularExpression

__all__ = ["TopicSearch", "check_regex", "is_resolution_due", "write_found"]

_SHORTEST_MS = 10_000
"""The shortest interval between a group's searches for topics, as in Kafka."""
_LONGEST_MS = 600_000
"""The longest interval between searches, as in Kafka, while members send heartbeats."""


def check_regex(group: ConsumerGroup, member_id: str, regex: str | None) -> None:
    """Check a regular expression that a member sends, unless the member has it already.

    Raises:
        InvalidRegularExpressionError: It is invalid or too large.
    """
    known = group.members.get(member_id)
    # An expression that the member has sent before was valid. The empty one is the end of a subscription by expression.
    if regex and (known is None or regex_of(known) != regex):
        compile_pattern(regex)


def is_resolution_due(before: ConsumerGroup | None, after: ConsumerGroup, topics: TopicsImage, wall_ms: int) -> bool:
    """Return whether to look for topics after a heartbeat of any member.

    As in Kafka, how long ago the last look was is asked of the group before the heartbeat, which may have forgotten an
    expression.
    """
    # The order of the cases is that of GroupMetadataManager.maybeUpdateRegularExpressions in Kafka.
    if not after.regex_subscribers:
        return False
    if before is None or not before.regexes:
        return True
    last_ms = max(found.timestamp_ms for found in before.regexes.values())
    # A search costs time for each topic of the cluster. Even a new expression waits, so that members that join one
    # after the other do not start one search each.
    if wall_ms < last_ms + _SHORTEST_MS:
        return False
    # A search is worth it if there is an expression without topics, if topics have changed, or once in a long while in
    # case a change was missed.
    is_new = any(regex not in before.regexes for regex in after.regex_subscribers)
    is_old = any(found.version != topics.version for found in before.regexes.values())
    return is_new or is_old or wall_ms >= last_ms + _LONGEST_MS


class TopicSearch:
    """Finds the topics that regular expressions of a group match, some at a time.

    Args:
        regexes: The expressions, which were checked.
        topics: The topics at the moment. Later changes make another search due.
        may_describe: Returns whether the member may describe a topic. It never finds others.

    Attributes:
        found: The topics of each expression that was searched for completely.
        version: The version of the topics.
        is_over: Whether nothing is left to do.
    """

    def __init__(self, regexes: Iterable[str], topics: TopicsImage, may_describe: Callable[[str], bool]) -> None:
        self.found: dict[str, frozenset[str]] = {}
        self.version = topics.version
        self.is_over = False
        self._may_describe = may_describe
        self._costs_us = self._search(sorted(regexes), [topic.name for topic in topics.topics()])

    def go_on(self, budget_us: int) -> int:
        """Search until the budget is used up, and return its rest. The last step may exceed the budget."""
        while budget_us > 0:
            cost_us = next(self._costs_us, None)
            if cost_us is None:
                self.is_over = True
                return budget_us
            budget_us -= cost_us
        return budget_us

    def _search(self, regexes: Iterable[str], names: Iterable[str]) -> Iterator[int]:
        """Yield what each step cost."""
        for regex in regexes:
            pattern = compile_pattern(regex)
            yield pattern.cost_us
            matching = []
            for name in names:
                # Topics that the member may not describe are left out silently
                # (GroupMetadataManager.filterTopicDescribeAuthorizedTopics in Kafka).
                if pattern.matches(name) and self._may_describe(name):
                    matching.append(name)
                yield pattern.cost_of_us(name)
            self.found[regex] = frozenset(matching)


def write_found(draft: ConsumerDraft, search: TopicSearch, topics: TopicsImage, wall_ms: int) -> None:
    """Write the topics that a search has found, and increase the group epoch if they are others."""
    group = draft.group
    has_changed = False
    # Expressions that lost their last subscriber during the search are left out, or their record would never be deleted
    # (GroupMetadataManager.handleRegularExpressionsResult).
    for regex in sorted(group.regex_subscribers.keys() & search.found.keys()):
        known, found = group.regexes.get(regex), search.found[regex]
        # The record is written even if the topics are the same, because it holds the time of the search. Only other
        # topics increase the group epoch.
        has_changed = has_changed or found != (frozenset() if known is None else known.topics)
        resolved = ResolvedRegex(found, search.version, wall_ms)
        draft.write(ConsumerGroupRegularExpression(group.group_id, regex, resolved))
    bump_group_epoch(draft, topics, has_changed=has_changed)
