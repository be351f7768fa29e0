"""The configuration keys that every client of a Kafka cluster has: addresses of brokers, timeouts, back-off."""

import functools
from typing import Any

from kafka_groups.config.keys import INT_MAX, Key, KeyType
from kafka_groups.config.readers import read_host_ports, read_not_empty

__all__ = [
    "ALLOW_AUTO_CREATE_TOPICS",
    "BOOTSTRAP_SERVERS",
    "CHECK_CRCS",
    "CLIENT_ID",
    "CLIENT_RACK",
    "DEFAULT_API_TIMEOUT_MS",
    "GROUP_ID",
    "METADATA_MAX_AGE_MS",
    "RECONNECT_BACKOFF_MAX_MS",
    "RECONNECT_BACKOFF_MS",
    "REQUEST_TIMEOUT_MS",
    "RETRY_BACKOFF_MAX_MS",
    "RETRY_BACKOFF_MS",
    "SOCKET_CONNECTION_SETUP_TIMEOUT_MS",
    "check_backoff",
]

_text = functools.partial(Key, type=KeyType.STRING)
_flag = functools.partial(Key, type=KeyType.BOOLEAN)
_ms = functools.partial(Key, type=KeyType.INT, unit="ms", minimum=0, maximum=INT_MAX)

BOOTSTRAP_SERVERS = Key(
    name="bootstrap.servers",
    type=KeyType.LIST,
    reader=read_host_ports,
    form="host:port, or several separated by commas (IPv6 addresses in brackets)",
    annotation="str | Sequence[str] | Sequence[tuple[str, int]]",
    doc="The brokers to contact first. One of them is enough: it names all others.",
    aliases=("metadata.broker.list",),
)
GROUP_ID = _text(
    name="group.id",
    reader=read_not_empty,
    form="a name that is not empty",
    doc="The share group to join.",
)
CLIENT_ID = _text(
    name="client.id",
    default="kafka-groups",
    doc="The client's name in the brokers' logs, metrics and quotas, and when you describe the group.",
)
CLIENT_RACK = _text(
    name="client.rack", default="", doc="The rack of the client, which the coordinator shows. Empty for none."
)
DEFAULT_API_TIMEOUT_MS = _ms(
    name="default.api.timeout.ms",
    default=60_000,
    doc="The timeout of calls that you give none.",
)
REQUEST_TIMEOUT_MS = _ms(
    name="request.timeout.ms",
    default=30_000,
    minimum=1,
    doc="How long a request waits for its response. After that, the client treats the connection as lost.",
    aliases=("socket.timeout.ms",),
)
METADATA_MAX_AGE_MS = _ms(
    name="metadata.max.age.ms",
    default=300_000,
    doc="How often the client refreshes what it knows about topics and brokers, even if nothing has changed.",
)
RETRY_BACKOFF_MS = _ms(
    name="retry.backoff.ms",
    default=100,
    doc="The wait before a failed request is retried. It doubles with each attempt.",
)
RETRY_BACKOFF_MAX_MS = _ms(
    name="retry.backoff.max.ms", default=1_000, doc="The longest wait before a failed request is retried."
)
RECONNECT_BACKOFF_MS = _ms(
    name="reconnect.backoff.ms",
    default=50,
    doc="The wait before the next attempt to connect to an unreachable broker. It doubles with each attempt.",
)
RECONNECT_BACKOFF_MAX_MS = _ms(
    name="reconnect.backoff.max.ms",
    default=1_000,
    doc="The longest wait before the next attempt to connect to an unreachable broker.",
)
SOCKET_CONNECTION_SETUP_TIMEOUT_MS = _ms(
    name="socket.connection.setup.timeout.ms",
    default=10_000,
    minimum=1,
    doc="How long it may take to establish a connection.",
)
CHECK_CRCS = _flag(
    name="check.crcs", default=True, doc="Whether to verify the checksum of each record batch before reading it."
)
ALLOW_AUTO_CREATE_TOPICS = _flag(
    name="allow.auto.create.topics",
    default=False,
    doc="Whether the broker may create a subscribed topic that does not exist. false: a warning names the topic, and "
    "the consumer waits for it. true: the broker creates it if auto.create.topics.enable is set there, and a warning "
    "says so.",
)


def check_backoff(key: Key, attribute: str, config: Any) -> None:
    """Check that the first wait is not longer than the longest wait.

    Raises:
        ConfigurationError: The first wait is longer.
    """
    first_ms, longest = getattr(config, attribute), attribute.removesuffix("_ms") + "_max_ms"
    longest_ms = getattr(config, longest)
    if first_ms > longest_ms:
        raise key.problem(
            first_ms,
            f"longer than {longest}, which is {longest_ms}",
            named=attribute,
            remedy=f"Use a smaller {attribute} or a larger {longest}",
        )
