"""Counters of a share consumer, under the names that Kafka's own client uses where it has them (KIP-932)."""

from collections.abc import Mapping

from attrs import define

from kafka_groups.share.delivery.commits import PendingAcknowledgement
from kafka_groups.share.delivery.counts import ConsumerCounts, count_types
from kafka_groups.share.delivery.leader import Exchange
from kafka_groups.types import AcknowledgeType

__all__ = ["ShareMetrics"]


@define
class ShareMetrics:
    """Totals since the consumer was made; plain integers, written by the event loop alone."""

    fetch_total: int = 0
    fetch_latency_total_ms: int = 0
    fetch_throttle_time_total_ms: int = 0
    bytes_consumed_total: int = 0
    acknowledgements_send_total: int = 0
    acknowledgements_error_total: int = 0
    renewals_send_total: int = 0
    prefetched_released_total: int = 0
    session_lost_total: int = 0
    records_accepted_total: int = 0
    records_released_total: int = 0
    records_rejected_total: int = 0

    def sent(self, exchange: Exchange) -> None:
        """A request leaves."""
        self.acknowledgements_send_total += sum(not p.is_renewal_in_place for p in exchange.acknowledgements)

    def fetched(self, latency_ms: int, throttle_time_ms: int) -> None:
        """A fetch was answered."""
        self.fetch_total += 1
        self.fetch_latency_total_ms += latency_ms
        self.fetch_throttle_time_total_ms += throttle_time_ms

    def delivered(self, size_bytes: int) -> None:
        """A fetch brought records."""
        self.bytes_consumed_total += size_bytes

    def acknowledged(self, pending: PendingAcknowledgement, *, failed: bool) -> None:
        """The fate of acknowledged records is known."""
        if failed:
            self.acknowledgements_error_total += sum(b.last_offset - b.first_offset + 1 for b in pending.batches)
            return
        counts = count_types(pending.batches)
        self.records_accepted_total += counts[AcknowledgeType.ACCEPT]
        self.records_released_total += counts[AcknowledgeType.RELEASE]
        self.records_rejected_total += counts[AcknowledgeType.REJECT]

    def counts(self, records: int) -> ConsumerCounts:
        """The totals that the application asks for by name; `records` is what it was given."""
        return ConsumerCounts(
            fetches=self.fetch_total,
            fetched_bytes=self.bytes_consumed_total,
            records=records,
            accepted=self.records_accepted_total,
            released=self.records_released_total,
            rejected=self.records_rejected_total,
            renewed=self.renewals_send_total,
            failed=self.acknowledgements_error_total,
        )

    def snapshot(self) -> Mapping[str, float]:
        """Name → value; a copy."""
        values: dict[str, float] = {
            name.replace("_", "-"): getattr(self, name) for name in self.__slots__ if not name.startswith("__")
        }
        values["fetch-latency-avg-ms"] = self.fetch_latency_total_ms / self.fetch_total if self.fetch_total else 0.0
        return values
