"""What the event loop counts and measures of fetching and acknowledging, for the metrics of a share consumer."""

from attrs import define, field

from kafka_groups.client.windows import Windows
from kafka_groups.share.delivery.commits import PendingAcknowledgement
from kafka_groups.share.delivery.counts import ConsumerCounts, count_types
from kafka_groups.share.delivery.leader import InFlightRequest, Purpose
from kafka_groups.types import AcknowledgeType

__all__ = ["ShareMetrics"]


@define
class ShareMetrics:
    """Totals since the consumer was made, and windows of recent values; written by the event loop alone."""

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
        """A request leaves."""
        if exchange.purpose is Purpose.FETCH:
            self.records_asked_for = exchange.max_records
        records = sum(p.record_count for p in exchange.acknowledgements if not p.is_renewal_in_place)
        if records:
            self.acknowledgements_send_total += records
            self.acknowledgements_sent.record(records, exchange.sent_ms)

    def fetched(self, latency_ms: int, throttle_time_ms: int, now_ms: int) -> None:
        """A fetch was answered."""
        self.fetch_total += 1
        self.fetch_latencies.record(latency_ms, now_ms)
        self.throttle_times.record(throttle_time_ms, now_ms)

    def delivered(self, records: int, size_bytes: int, now_ms: int) -> None:
        """A fetch brought records."""
        self.records_fetched_total += records
        self.bytes_fetched_total += size_bytes
        self.fetch_records.record(records, now_ms)
        self.fetch_sizes.record(size_bytes, now_ms)

    def acknowledged(self, pending: PendingAcknowledgement) -> None:
        """A broker took acknowledgements."""
        counts = count_types(pending.batches)
        self.records_accepted_total += counts[AcknowledgeType.ACCEPT]
        self.records_released_total += counts[AcknowledgeType.RELEASE]
        self.records_rejected_total += counts[AcknowledgeType.REJECT]

    def refused(self, pending: PendingAcknowledgement) -> None:
        """Acknowledgements did not succeed."""
        self.acknowledgements_error_total += pending.record_count

    def turned(self, now_ms: int) -> None:
        """Note the failures since the last turn as failures of now."""
        if self.acknowledgements_error_total != self._errors_before:
            self.acknowledgement_errors.record(self.acknowledgements_error_total - self._errors_before, now_ms)
            self._errors_before = self.acknowledgements_error_total

    def counts(self, records: int) -> ConsumerCounts:
        """The totals that the application asks for by name; `records` is what it was given."""
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
