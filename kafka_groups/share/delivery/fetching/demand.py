"""Decides whether to fetch now, how long a leader may wait for records, and how many to request."""

from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.config.readers import ADAPTIVE
from kafka_groups.protocol.messages.share_fetch import AcquireMode
from kafka_groups.share.delivery.fetching.fetch_size import Situation
from kafka_groups.share.delivery.fetching.leader import FetchLimits, Leader
from kafka_groups.share.delivery.fetching.share_responses import ShareResponses
from kafka_groups.share.delivery.inbox import Inbox

__all__ = ["Demand"]

_SHORT_WAIT_MS = 100
"""The shortest wait at the leader.

It limits the requests for an application that polls in short steps.
"""

_TURN_MS = 50
"""The wait at a leader while others may have records, when only one leader at a time may acquire."""

_OFTEN = 2
"""Records with a higher delivery count may have crashed earlier consumers."""

_ACQUIRE_MODES = {"batch_optimized": AcquireMode.BATCH_OPTIMIZED, "record_limit": AcquireMode.RECORD_LIMIT}


class Demand:
    """Reads the application's demand from the inbox.

    Args:
        config: The consumer's configuration.
        inbox: The records that it holds, the records that wait for it, and its pace.
        responses: Knows how long locks last.
    """

    def __init__(self, config: ShareConsumerConfig, inbox: Inbox, responses: ShareResponses) -> None:
        self._config = config
        self._inbox = inbox
        self._responses = responses
        self._noted_setbacks = 0

    @property
    def is_limited(self) -> bool:
        """True if a fetch may acquire only a limited number of records (KIP-1206)."""
        # A limit that the application sets for the next fetches is as strict as the configured mode, and sent as that
        # mode.
        return self._config.acquire_mode == "record_limit" or self._inbox.fetch_limit is not None

    def is_divided(self, leaders: int) -> bool:
        """Return True if each of the leaders is asked for its part of the limit, at the same time as the others."""
        limit = self._inbox.fetch_limit
        return self._inbox.shares_limit and limit is not None and limit >= leaders

    def had_setback(self) -> bool:
        """Return True if delivered records had a setback since the last call."""
        setbacks, self._noted_setbacks = self._noted_setbacks, self._inbox.setbacks
        return setbacks != self._noted_setbacks

    def wait_ms(self, leader: Leader, leaders: int, now_ms: int) -> int | None:
        """Return how long the leader of a fetch that is due now may wait for records, or None if no fetch is due."""
        # There are four cases. While the consumer is paused, nothing is fetched. If the application waits, the leader
        # may wait for records with it. If it is busy, a prefetch goes only while fewer responses wait than may, and not
        # to a leader that had nothing. Otherwise the leader answers at once with what it has.
        if self._inbox.is_paused:
            return None
        if self._inbox.needs_records:
            wait_ms = self._wait_for_application(now_ms)
            # While one leader waits for records, the others may not be asked, although they may have some.
            return min(wait_ms, _TURN_MS) if self._takes_turns(leaders) else wait_ms
        if leader.was_empty or self._inbox.unclaimed(leader.node_id) >= self._prefetch_batches(now_ms):
            return None
        # MaxWaitMs is 0 for a prefetch: a fetch that waits at the leader would hold up acknowledgements, which have to
        # wait for its response. Kafka's client sends `fetch.max.wait.ms` with each fetch of records.
        return 0

    def _takes_turns(self, leaders: int) -> bool:
        # The limit is too small to be divided: fewer records than leaders. So the leaders are asked in turn.
        is_small = self._inbox.shares_limit and self._inbox.fetch_limit is not None and not self.is_divided(leaders)
        return is_small and leaders > 1

    def _wait_for_application(self, now_ms: int) -> int:
        """Return a wait that ends with the application's poll.

        Records that arrive later would be locked while it is busy.
        """
        until_ms, longest_ms = self._inbox.waits_until_ms, self._config.fetch_max_wait_ms
        return longest_ms if until_ms is None else min(longest_ms, max(until_ms - now_ms, _SHORT_WAIT_MS))

    def _prefetch_batches(self, now_ms: int) -> int:
        """Return how many responses may be prefetched for the application.

        Return 0 if the application takes a quarter of the lock duration for each response, turns prefetching off, or
        had a setback with delivered records. Prefetched records are locked, so a slow application would lose them and
        use up their deliveries. Its speed is known after the first delivery.
        """
        inbox, lock_timeout_ms = self._inbox, self._responses.lock_timeout_ms
        # Three cases without prefetching: the pace is unknown before the first delivery is done, the lock's duration is
        # unknown before the first response, and prefetched records would exceed a strict limit (KIP-1206).
        if inbox.processing_ms is None or lock_timeout_ms is None or self.is_limited:
            return 0
        since_ms = inbox.processing_since_ms
        # A delivery that takes longer than the last one counts at once, not only when it is done.
        current_ms = 0 if since_ms is None else now_ms - since_ms
        is_slow = max(inbox.processing_ms, current_ms) * 4 > lock_timeout_ms
        if is_slow or not inbox.fetches_ahead or self._is_risky:
            return 0
        return self._config.prefetch_batches

    @property
    def _is_risky(self) -> bool:
        """True if records in hand may crash the application or overload it."""
        # There are two cases. With fetches of a fixed size a crash costs a known number of deliveries, so one
        # redelivery may pass. Adaptive fetches may hold thousands of records, so the first redelivery and any setback
        # already count. Kafka's broker isolates suspect records in a similar way, but only from half of the delivery
        # limit on.
        if self._config.fetch_max_records != ADAPTIVE:
            return self._inbox.was_delivered_more_than(_OFTEN)
        return self._inbox.after_setback or self._inbox.was_delivered_more_than(1)

    def max_records(self, leader: Leader, leaders: int, partitions: int, now_ms: int) -> int:
        """Return how many records to request from a leader.

        Args:
            leader: The leader.
            leaders: How many leaders there are to ask.
            partitions: How many partitions this one leads.
            now_ms: The time.
        """
        most, inbox, lock_timeout_ms = self._config.max_poll_records, self._inbox, self._responses.lock_timeout_ms
        if self.is_limited:
            # The limit is exact: MaxRecords is strict with the acquire mode record_limit (KIP-1206). Otherwise it is a
            # hint, as the broker acquires whole batches (KIP-932, "Batching").
            limit = most if inbox.fetch_limit is None else min(inbox.fetch_limit, most)
            return max(1, limit // leaders) if self.is_divided(leaders) else limit
        # The smallest size needs no bounds, and without a lock duration none can be computed.
        if not leader.size.has_grown or lock_timeout_ms is None:
            return leader.size.least
        situation = Situation(
            lock_timeout_ms=lock_timeout_ms,
            pace_ms=inbox.record_ms(now_ms),
            leaders=leaders,
            record_locks=inbox.record_locks * partitions,
            held=inbox.held_of(leader.node_id),
        )
        return leader.size.ask(situation)

    def limits(self, max_wait_ms: int, max_records: int) -> FetchLimits:
        """Return the limits of a fetch."""
        config = self._config
        return FetchLimits(
            max_wait_ms=max_wait_ms,
            min_bytes=config.fetch_min_bytes,
            max_bytes=config.fetch_max_bytes,
            max_records=max_records,
            # BatchSize tells the broker where to cut what it locks together. It stays the size of a poll even if the
            # fetch is larger: acknowledging a part of a batch would make the broker track each of its offsets.
            batch_size=config.max_poll_records,
            acquire_mode=_ACQUIRE_MODES["record_limit" if self.is_limited else "batch_optimized"],
        )
