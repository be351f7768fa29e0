"""Statuses of a group that does not work: some are waited out, others end the worker."""

import logging
import re
from collections.abc import Sequence

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.client.rights import NeededRight
from kafka_groups.errors.texts import GRANT_IT, sentences
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus, StreamsStatus
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.topology.internal_topics import InternalTopics

__all__ = ["GroupStatuses"]

_log = logging.getLogger(__name__)

_MISSING_MS = 10_000
"""The time for which source topics may be missing: two heartbeat intervals of 5 s, as in Java."""

_PASSING = frozenset({StreamsStatus.ASSIGNMENT_DELAYED, StreamsStatus.MISSING_INTERNAL_TOPICS})
"""Statuses of every group that starts."""

_REMEDIES = {
    StreamsStatus.MISSING_SOURCE_TOPICS: "Create the topics.",
    StreamsStatus.MISSING_INTERNAL_TOPICS: (
        "The group's coordinator creates them, and tries again. If it gives a reason, correct that: for example a key "
        "topic.… of the application, the number of brokers, or the right to create topics."
    ),
    StreamsStatus.ASSIGNMENT_DELAYED: (
        "The coordinator waits for more members, or for its assignor. If that continues, look at "
        "streams.initial.rebalance.delay.ms and streams.assignment.interval.ms of the group, and at the log of the "
        "coordinator."
    ),
    StreamsStatus.STALE_TOPOLOGY: "The group has a newer topology. Stop this process, and start the newer program.",
}
_FAILURE = re.compile(r"[;.]?\s*Creation failed: ")
"""Kafka writes this before the reasons why topics could not be created, in every second heartbeat or so."""

_UNAUTHORIZED = re.compile(r"Unauthorized to CREATE on topics (?P<names>[^;]+?)\.?\Z")
"""Brokers end the detail so if the member may not create the topics."""


class GroupStatuses:
    """The statuses of the group. Topics that are missing end the worker after a while, wrong ones at once.

    Args:
        topics: The internal topics of the application.

    Attributes:
        has_worked: Whether the worker has had tasks, so that all internal topics were there.
    """

    def __init__(self, topics: InternalTopics) -> None:
        self.has_worked = False
        self._topics = topics
        self._known: Sequence[StreamsGroupHeartbeatStatus] = ()
        self._said: set[str] = set()
        self._failure = ""
        self._missing: StreamsGroupHeartbeatStatus | None = None
        self._missing_since_ms = 0

    def __repr__(self) -> str:
        return f"<GroupStatuses: missing {self._missing}>"

    @property
    def obstacles(self) -> list[str]:
        """The statuses that keep the group from working, with remedies."""
        return [f"the streams group says {self._told(each)} {_remedy(each)}".rstrip() for each in self._known]

    def changed(self, statuses: Sequence[StreamsGroupHeartbeatStatus], now_ms: int, *, is_final: bool = False) -> None:
        """Note the statuses that the group has now.

        Args:
            statuses: The statuses.
            now_ms: The time.
            is_final: Whether missing topics are not waited for.

        Raises:
            StreamsError: Topics have numbers of partitions that the topology cannot work with, or are missing for good.
        """
        self._known = statuses
        # The group works again. If it stops later on, everything is logged anew.
        if not statuses:
            self._said, self._failure = set(), ""
        missing = None
        for status in statuses:
            self._say(status)
            # At once, as in StreamThread.handleStreamsRebalanceData: the numbers of partitions do not change by
            # themselves.
            if status.status_code == StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS:
                raise StreamsError(f"{self._told(status)} {self._advice(status.status_detail)}")
            if status.status_code == StreamsStatus.MISSING_SOURCE_TOPICS:
                missing = status
        # The time counts from the first response without the topics. If others are missing meanwhile, it goes on, as in
        # Java.
        if missing is not None and self._missing is None:
            self._missing_since_ms = now_ms
        self._missing = missing
        # In a classic group the leader has looked for them, and Java's thread ends with a MissingSourceTopicException.
        if is_final:
            self._end_if_missing()

    def check(self, now_ms: int) -> None:
        """Raise an error if source topics have been missing for too long.

        Raises:
            StreamsError: They have.
        """
        # StreamThread.handleMissingSourceTopicsWithTimeout waits for two heartbeat intervals: a topic may just be being
        # created.
        if now_ms - self._missing_since_ms >= _MISSING_MS:
            self._end_if_missing()

    def _end_if_missing(self) -> None:
        if self._missing is not None:
            raise StreamsError(f"{self._told(self._missing)} Create the topics, and start the application again.")

    def _say(self, status: StreamsGroupHeartbeatStatus) -> None:
        """Log a status once: Kafka gives the reasons of a failure in some heartbeats and not in others."""
        has_failed = _FAILURE.search(status.status_detail or "") is not None
        if has_failed:
            self._failure = status.status_detail or ""
        text = self._told(status)
        # Kafka repeats the statuses in every response.
        if text in self._said:
            return
        self._said.add(text)
        if self.has_worked and (lost := self._lost(status)):
            _log.warning("The streams group says: %s %s", text, lost)
        elif has_failed:
            _log.warning("The streams group says: %s %s", text, _remedy(status))
        else:
            level = logging.INFO if status.status_code in _PASSING else logging.WARNING
            _log.log(level, "The streams group says: %s", text)

    def _lost(self, status: StreamsGroupHeartbeatStatus) -> str | None:
        """Return what is lost with a changelog that was deleted while the group worked."""
        if status.status_code != StreamsStatus.MISSING_INTERNAL_TOPICS:
            return None
        changelogs = self._topics.changelogs
        lost = sorted(changelogs[name] for name in _names(status.status_detail) & changelogs.keys())
        if not lost:
            return None
        return (
            f"The changelog of store {', '.join(map(repr, lost))} was deleted while the application ran. The "
            "coordinator makes an empty one, and what the store had is lost: its results begin again. To have right "
            "results, start the application with another application_id, which processes its sources from the "
            "beginning."
        )

    def _told(self, status: StreamsGroupHeartbeatStatus) -> str:
        known = {each.value: each.name for each in StreamsStatus}
        name = known.get(status.status_code, f"status {status.status_code}")
        detail = status.status_detail
        # The reason is missing in some responses. The last one is told until the group works.
        if status.status_code == StreamsStatus.MISSING_INTERNAL_TOPICS and self._failure:
            detail = self._failure
        return sentences(f"{name}: {detail}" if detail else name)

    def _advice(self, detail: str | None) -> str:
        """Return how to make numbers of partitions fit, without the deletion of a topic that has the only copy."""
        names = _names(detail)
        if stores := [self._topics.changelogs[name] for name in sorted(names & self._topics.changelogs.keys())]:
            return (
                f"Do not delete the changelog: it has the only copy of store {', '.join(map(repr, stores))}. It has a "
                "partition for each partition of the sources, and equal keys stay in equal partitions, so it cannot "
                "follow sources that have grown. Start the application with another application_id, so that it "
                "processes its sources again, or let it read topics with as many partitions as before."
            )
        if names & self._topics.repartitions:
            return (
                "Do not delete the repartition topic: it may have records that are not processed yet. Give repartition "
                "the number of partitions that the topic has, or start the application with another application_id."
            )
        return (
            "Let the application repartition(partitions=…) one of the streams, or use topics with the numbers of "
            "partitions that match."
        )


def _names(detail: str | None) -> set[str]:
    """Return what may be names of topics in the text of a status."""
    return {name.rstrip(".") for name in re.findall(r"[\w.-]+", detail or "")}


def _remedy(status: StreamsGroupHeartbeatStatus) -> str:
    unauthorized = _UNAUTHORIZED.search(status.status_detail)
    # Topics are created for the member whose heartbeat finds that they are missing, so each member needs the right.
    if unauthorized is not None:
        names = unauthorized["names"].split(", ")
        return f"{GRANT_IT}{NeededRight((AclOperation.CREATE,), AclResourceType.TOPIC, names).command(None)}"
    remedies: dict[int, str] = {code.value: text for code, text in _REMEDIES.items()}
    return remedies.get(status.status_code, "")
