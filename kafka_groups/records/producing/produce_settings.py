"""The settings of a producer's requests."""

from attrs import frozen

from kafka_groups.client.requests import Lane

__all__ = ["ProduceSettings"]


@frozen
class ProduceSettings:
    """The settings of a `ProduceManager`.

    Attributes:
        request_timeout_ms: How long to wait for a response (`request.timeout.ms`).
        max_request_bytes: The most bytes of a request with several batches (`max.request.size`).
        max_in_flight: The most requests in flight to one broker, and batches of one partition, 1 to 5.
        missing_topic_ms: How long a topic may be missing until its records are refused. None: they wait for it.
        holds_denied: Whether records wait for a right that is missing, and are not refused.
        limits_records: Whether the limit of requests is that of a record, too. Errors of records that are too large
            name the keys.
        collects: Whether a batch takes more records, until it is full, while another one of its partition is under way.
            The first record is sent at once, and the more there are, the fewer requests they need.
        principal: Who is not allowed to do something, for messages; None if it is not known here.
        lane: The connection to use.
    """

    request_timeout_ms: int = 30_000
    max_request_bytes: int = 1_048_576
    max_in_flight: int = 5
    missing_topic_ms: int | None = 60_000
    holds_denied: bool = False
    limits_records: bool = True
    collects: bool = False
    principal: str | None = None
    lane: Lane = Lane.PRODUCE
