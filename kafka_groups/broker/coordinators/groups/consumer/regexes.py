"""Regular expressions that members of a consumer group subscribe to: the coordinator finds the topics that match.

As in Kafka, a heartbeat does not wait for that. An operation of its own follows, which may increase the group epoch.
"""

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, ConsumerGroup
from kafka_groups.broker.coordinators.groups.consumer.records import (
    ConsumerGroupRegularExpression,
    ResolvedRegex,
)
from kafka_groups.broker.coordinators.groups.consumer.subscriptions import bump_group_epoch
from kafka_groups.broker.coordinators.groups.topic_patterns import compile_pattern
from kafka_groups.broker.coordinators.groups.topics import TopicsImage

__all__ = ["check_regex", "is_resolution_due", "resolve_regexes"]

_SHORTEST_MS = 10_000
"""As in Kafka, a group looks for topics at most this often."""
_LONGEST_MS = 600_000
"""As in Kafka, it looks at least this often, as long as members send heartbeats."""


def check_regex(group: ConsumerGroup, member_id: str, regex: str | None) -> None:
    """Check a regular expression that a member sends, unless the member has it already.

    Raises:
        InvalidRegularExpressionError: It is invalid or too large.
    """
    known = group.members.get(member_id)
    if regex and (known is None or known.subscribed_topic_regex != regex):
        compile_pattern(regex)


def is_resolution_due(before: ConsumerGroup | None, after: ConsumerGroup, topics: TopicsImage, wall_ms: int) -> bool:
    """Return whether to look for topics after a heartbeat of any member.

    As in Kafka, how long ago the last look was is asked of the group before the heartbeat, which may have forgotten an
    expression.
    """
    if not after.regex_subscribers:
        return False
    if before is None or not before.regexes:
        return True
    last_ms = max(found.timestamp_ms for found in before.regexes.values())
    if wall_ms < last_ms + _SHORTEST_MS:
        return False
    is_new = any(regex not in before.regexes for regex in after.regex_subscribers)
    is_old = any(found.version != topics.version for found in before.regexes.values())
    return is_new or is_old or wall_ms >= last_ms + _LONGEST_MS


def resolve_regexes(draft: ConsumerDraft, topics: TopicsImage, wall_ms: int) -> None:
    """Find the topics of all regular expressions of a group, and increase the group epoch if they are others."""
    group = draft.group
    names = [topic.name for topic in topics.topics()]
    has_changed = False
    for regex in sorted(group.regex_subscribers):
        known = group.regexes.get(regex)
        found = frozenset(compile_pattern(regex).matching(names))
        has_changed = has_changed or found != (frozenset() if known is None else known.topics)
        resolved = ResolvedRegex(found, topics.version, wall_ms)
        draft.write(ConsumerGroupRegularExpression(group.group_id, regex, resolved))
    bump_group_epoch(draft, topics, has_changed=has_changed)
