"""The protocols that the members of a classic group support, and the vote that chooses one."""

from collections import Counter
from collections.abc import Iterable, Sequence

from kafka_groups.broker.metadata.placement import java_hash
from kafka_groups.protocol.messages.join_group import JoinGroupRequestProtocol

__all__ = ["SupportedProtocols", "elected"]

_JAVA_BUCKETS = 16


class SupportedProtocols:
    """Counts the members that support each protocol."""

    def __init__(self) -> None:
        self._supporters: Counter[str] = Counter()

    def add(self, protocols: Iterable[JoinGroupRequestProtocol]) -> None:
        """Count the protocols of a member."""
        self._supporters.update(protocol.name for protocol in protocols)

    def remove(self, protocols: Iterable[JoinGroupRequestProtocol]) -> None:
        """Stop counting the protocols of a member."""
        for protocol in protocols:
            self._supporters[protocol.name] -= 1
            if not self._supporters[protocol.name]:
                del self._supporters[protocol.name]

    def has_common(self, protocols: Iterable[JoinGroupRequestProtocol], members: int) -> bool:
        """Return whether all of that many members support one of the protocols."""
        # See ClassicGroup.supportsProtocols in Kafka.
        return any(self._supporters[protocol.name] == members for protocol in protocols)


def elected(preferences: Sequence[Sequence[str]]) -> str:
    """Return the protocol that the members choose, from the names that each supports, the preferred one first.

    Candidates are the protocols that every member supports. Each member votes for the candidate that it prefers. The
    candidate with the most votes wins.
    """
    # The two steps of ClassicGroup.selectProtocol in Kafka: the candidates, then the vote.
    supporters = Counter(name for names in preferences for name in names)
    candidates = {name for name, count in supporters.items() if count == len(preferences)}
    votes = Counter(next(name for name in names if name in candidates) for names in preferences)
    return min(votes, key=lambda name: (-votes[name], _java_bucket(name)))


def _java_bucket(name: str) -> int:
    """Return the place of a name among the keys of a Java `HashMap`: in Kafka, the first of those with most votes wins.

    Two names with the same place stay in the order of their first vote. It is the same as Kafka's with up to 12 names.
    """
    # HashMap spreads the upper bits of a hash over the lower ones, and has 16 buckets while it has up to 12 entries.
    code = java_hash(name) & 0xFFFF_FFFF
    return (code ^ code >> 16) % _JAVA_BUCKETS
