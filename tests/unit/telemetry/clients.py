"""A client with one counter, for tests of exporters."""

from kafka_groups.telemetry.families import Family, MetricKind
from kafka_groups.telemetry.sources import MetricSample, TelemetrySource

__all__ = ["FAMILY", "Client"]

FAMILY = Family("polls_total", MetricKind.COUNTER, ("group", "client_id"), "polls", "Polls.")


class Client:
    """A client that counts its polls, and how often it was read."""

    def __init__(self, client_id: str, polls: int = 0) -> None:
        self.client_id = client_id
        self.polls = polls
        self.reads = 0

    def __repr__(self) -> str:
        return f"<Client {self.client_id}>"

    @property
    def telemetry(self) -> TelemetrySource:
        return TelemetrySource((("group", "g"), ("client_id", self.client_id)), (FAMILY,), self._read)

    def _read(self) -> list[MetricSample]:
        self.reads += 1
        return [MetricSample(FAMILY, (), self.polls)]
