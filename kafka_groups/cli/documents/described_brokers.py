"""The documents of `kafka-groups brokers`."""

from attrs import frozen

__all__ = ["BrokerEntry"]


@frozen
class BrokerEntry:
    """A broker.

    Attributes:
        broker: Its id.
        host: The host that clients connect to.
        port: The port that clients connect to.
        rack: Its rack, or null.
    """

    broker: int
    host: str
    port: int
    rack: str | None
