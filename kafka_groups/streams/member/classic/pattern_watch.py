"""Looks for topics that match the patterns of a member: before each JoinGroup, and now and then."""

from collections.abc import Iterable

from attrs import evolve, frozen

from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kafka_groups.streams.member.classic.membership import ClassicMembership

__all__ = ["PatternWatch", "WatchPace"]


@frozen
class WatchPace:
    """The times of a watch, in milliseconds.

    Attributes:
        max_age_ms: The time between two questions (`metadata.max.age.ms`).
        timeout_ms: How long to wait for a response (`request.timeout.ms`).
    """

    max_age_ms: int
    timeout_ms: int


class PatternWatch:
    """The request manager that asks for all topics, and tells the membership which of them its patterns match.

    Args:
        membership: The membership.
        sources: The patterns.
        metadata: The metadata of the client, which get those of the topics that match.
        errors: Receives errors that end the client.
        pace: When it asks.
        backoff: Delays attempts after failures.
    """

    def __init__(
        self,
        membership: ClassicMembership,
        sources: PatternSources,
        metadata: Metadata,
        errors: BackgroundErrors,
        *,
        pace: WatchPace,
        backoff: BackoffTimer,
    ) -> None:
        self._membership = membership
        self._sources = sources
        self._metadata = metadata
        self._errors = errors
        self._pace = pace
        self._backoff = backoff
        self._next_ms = 0
        self._in_flight: OutgoingRequest | None = None

    def __repr__(self) -> str:
        return f"<PatternWatch every {self._pace.max_age_ms} ms>"

    def poll(self, now_ms: int) -> PollResult:
        """Return a Metadata request if one is due and none is in flight."""
        if self._in_flight is not None:
            return PollResult()
        # As ConsumerCoordinator.poll in Java, which joins with fresh metadata if it subscribes to a pattern.
        wait_ms = 0 if self._membership.needs_topics else max(0, self._next_ms - now_ms)
        wait_ms = max(wait_ms, self._backoff.remaining_ms(now_ms))
        if wait_ms > 0:
            return PollResult(wait_ms=wait_ms)
        self._in_flight = OutgoingRequest(ApiKey.METADATA, _all_topics, node_id=None, timeout_ms=self._pace.timeout_ms)
        return PollResult((self._in_flight,))

    def on_response(self, _request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Tell the membership the topics that exist."""
        self._in_flight = None
        response: MetadataResponse = answer.message
        if self._metadata.must_rebootstrap(response) or not self._is_usable(response):
            self._backoff.failed(now_ms)
            return
        self._backoff.succeeded()
        self._backoff.wait(response.throttle_time_ms, now_ms)
        self._next_ms = now_ms + self._pace.max_age_ms
        topics = tuple(self._matching(response.topics))
        self._metadata.apply(evolve(response, topics=topics))
        self._membership.saw_topics([topic.name for topic in topics if topic.name is not None], now_ms)

    def _is_usable(self, response: MetadataResponse) -> bool:
        try:
            self._metadata.check_cluster(response)
        except ConfigurationError as error:
            self._errors.report_fatal(error)
            return False
        return response.error_code is ErrorCode.NONE

    def _matching(self, topics: Iterable[MetadataResponseTopic]) -> Iterable[MetadataResponseTopic]:
        """Return the topics that patterns match. Java's consumers leave out internal ones, too."""
        names = self._sources.matched(topic.name for topic in topics if topic.name is not None)
        for topic in topics:
            # One whose partitions have no leaders yet is there all the same.
            if (
                topic.name in names
                and not topic.is_internal
                and topic.error_code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            ):
                yield topic

    def on_failure(self, _request: OutgoingRequest, _error: Exception, now_ms: int) -> None:
        """Retry after the back-off, with any broker that can be reached."""
        self._in_flight = None
        self._backoff.failed(now_ms)


def _all_topics(_version: int) -> MetadataRequest:
    return MetadataRequest(topics=None, allow_auto_topic_creation=False)
