"""Counts and measures fetches and acknowledgements on the event loop, for the metrics of a share consumer."""

from attrs import define, field

from kafka_groups.client.windows import Windows
from kafka_groups.share.delivery.commits import PendingAcknowledgement
from kafka_groups.share.delivery.counts import ConsumerCounts, count_types
from kafka_groups.share.delivery.fetching.leader import InFlightRequest, Purpose
from kafka_groups.types import AcknowledgeType

__all__ = ["ShareMetrics"]


@define
class ShareMetrics:
    """Totals since the consumer was created, and windows of recent values. Only the event loop writes them."""

    fetch_total: int = 0
    records_asked_for: int = 0
    records_fetched_total: int = 0
    bytes_fetched_total: int = 0
    acknowledgements_send_total: int = 0
    acknowledgements_error_total: int = 0
    renewals_send_total: int = 0
    prefetched_released_total: int = 0
    session_lost_total: int = 0
    redelivered_total: int = 0
    records_accepted_total: int = 0
    records_released_total: int = 0
    records_rejected_total: int = 0
    fetch_latencies: Windows = field(factory=Windows)
    throttle_times: Windows = field(factory=Windows)
    fetch_sizes: Windows = field(factory=Windows)
    fetch_records: Windows = field(factory=Windows)
    acknowledgements_sent: Windows = field(factory=Windows)
    acknowledgement_errors: Windows = field(factory=Windows)
    _errors_before: int = 0

    def sent(self, exchange: InFlightRequest) -> None:
        """Count a request that is sent."""
        if exchange.purpose is Purpose.FETCH:
            self.records_asked_for = exchange.max_records
        # Renewals in place are made by this client and are no acknowledgements of the application. They have their own
        # total.
        records = sum(p.record_count for p in exchange.acknowledgements if not p.is_renewal_in_place)
        if records:
            self.acknowledgements_send_total += records
            self.acknowledgements_sent.record(records, exchange.sent_ms)

    def fetched(self, latency_ms: int, throttle_time_ms: int, now_ms: int) -> None:
        """Count a fetch response."""
        self.fetch_total += 1
        self.fetch_latencies.record(latency_ms, now_ms)
        self.throttle_times.record(throttle_time_ms, now_ms)

    def delivered(self, records: int, size_bytes: int, now_ms: int) -> None:
        """Count the records of a fetch response."""
        self.records_fetched_total += records
        self.bytes_fetched_total += size_bytes
        self.fetch_records.record(records, now_ms)
        self.fetch_sizes.record(size_bytes, now_ms)

    def acknowledged(self, pending: PendingAcknowledgement) -> None:
        """Count acknowledgements that a broker accepted."""
        counts = count_types(pending.batches)
        self.records_accepted_total += counts[AcknowledgeType.ACCEPT]
        self.records_released_total += counts[AcknowledgeType.RELEASE]
        self.records_rejected_total += counts[AcknowledgeType.REJECT]

    def refused(self, pending: PendingAcknowledgement) -> None:
        """Count acknowledgements that failed."""
        self.acknowledgements_error_total += pending.record_count

    def turned(self, now_ms: int) -> None:
        """Count the failures since the last turn at the current time."""
        if self.acknowledgements_error_total != self._errors_before:
            self.acknowledgement_errors.record(self.acknowledgements_error_total - self._errors_before, now_ms)
            self._errors_before = self.acknowledgements_error_total

    def counts(self, records: int) -> ConsumerCounts:
        """Return the totals. `records` is the number that the application received."""
        return ConsumerCounts(
            fetches=self.fetch_total,
            fetched_bytes=self.bytes_fetched_total,
            records=records,
            accepted=self.records_accepted_total,
            released=self.records_released_total,
            rejected=self.records_rejected_total,
            renewed=self.renewals_send_total,
            failed=self.acknowledgements_error_total,
        )
