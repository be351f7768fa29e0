"""The configuration keys that every client of a Kafka cluster has: where the brokers are, time-outs, TLS."""

import functools
from typing import Any

from kafka_groups.config.keys import INT_MAX, Key, KeyType
from kafka_groups.config.readers import read_endpoint_identification, read_host_ports, read_not_empty, read_upper_case
from kafka_groups.errors import ConfigurationError

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
    "SECURITY_PROTOCOL",
    "SOCKET_CONNECTION_SETUP_TIMEOUT_MS",
    "SSL_CA_LOCATION",
    "SSL_CERTIFICATE_LOCATION",
    "SSL_ENDPOINT_IDENTIFICATION_ALGORITHM",
    "SSL_KEY_LOCATION",
    "SSL_KEY_PASSWORD",
    "check_backoff",
    "check_tls",
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
    doc="Brokers to ask first; any of them tells about all others.",
    aliases=("metadata.broker.list",),
)
GROUP_ID = _text(
    name="group.id",
    reader=read_not_empty,
    form="a name that is not empty",
    doc="The group to be a member of.",
)
CLIENT_ID = _text(
    name="client.id",
    default="kafka-groups",
    doc="The name of the client in the brokers' logs, metrics and quotas, and in descriptions of the group.",
)
CLIENT_RACK = _text(
    name="client.rack", default="", doc="The rack that the client is in; the coordinator shows it. Empty for none."
)
DEFAULT_API_TIMEOUT_MS = _ms(
    name="default.api.timeout.ms",
    default=60_000,
    doc="How long a call that was given no timeout may take.",
)
REQUEST_TIMEOUT_MS = _ms(
    name="request.timeout.ms",
    default=30_000,
    minimum=1,
    doc="How long one request waits for its response before the connection counts as lost.",
    aliases=("socket.timeout.ms",),
)
METADATA_MAX_AGE_MS = _ms(
    name="metadata.max.age.ms",
    default=300_000,
    doc="How old the client's picture of topics and brokers may become before it is asked for again.",
)
RETRY_BACKOFF_MS = _ms(
    name="retry.backoff.ms", default=100, doc="The wait before a failed request is sent again; it doubles each time."
)
RETRY_BACKOFF_MAX_MS = _ms(
    name="retry.backoff.max.ms", default=1_000, doc="The longest wait before a failed request is sent again."
)
RECONNECT_BACKOFF_MS = _ms(
    name="reconnect.backoff.ms",
    default=50,
    doc="The wait before the next attempt to reach a broker that could not be reached; it doubles each time.",
)
RECONNECT_BACKOFF_MAX_MS = _ms(
    name="reconnect.backoff.max.ms",
    default=1_000,
    doc="The longest wait between two attempts to reach a broker.",
)
SOCKET_CONNECTION_SETUP_TIMEOUT_MS = _ms(
    name="socket.connection.setup.timeout.ms",
    default=10_000,
    minimum=1,
    doc="How long the set-up of a connection may take.",
)
CHECK_CRCS = _flag(
    name="check.crcs", default=True, doc="Whether the checksum of each record batch is checked before it is read."
)
ALLOW_AUTO_CREATE_TOPICS = _flag(
    name="allow.auto.create.topics",
    default=True,
    doc="Whether the broker may create a subscribed topic that does not exist.",
)
SECURITY_PROTOCOL = _text(
    name="security.protocol",
    default="PLAINTEXT",
    reader=read_upper_case,
    choices=("PLAINTEXT", "SSL"),
    doc="Whether connections are encrypted with TLS.",
)
SSL_CA_LOCATION = _text(
    name="ssl.ca.location",
    default=None,
    doc="A PEM file with the certificates that are trusted to sign a broker's; the system's own if there is none.",
)
SSL_CERTIFICATE_LOCATION = _text(
    name="ssl.certificate.location", default=None, doc="A PEM file with the client's certificate chain."
)
SSL_KEY_LOCATION = _text(
    name="ssl.key.location", default=None, doc="A PEM file with the private key of the client's certificate."
)
SSL_KEY_PASSWORD = Key(
    name="ssl.key.password", type=KeyType.PASSWORD, default=None, doc="The password of the private key."
)
SSL_ENDPOINT_IDENTIFICATION_ALGORITHM = _text(
    name="ssl.endpoint.identification.algorithm",
    default="https",
    reader=read_endpoint_identification,
    choices=("https", "none"),
    doc="Whether the name in the broker's certificate must be the host's (https) or need not (none, or empty).",
)


def check_backoff(key: Key, attribute: str, config: Any) -> None:
    """A first wait that is longer than the longest wait is an error.

    Raises:
        ConfigurationError: It is.
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


def check_tls(config: Any) -> None:
    """TLS keys without TLS, or a private key without its certificate (and the reverse), are errors.

    Raises:
        ConfigurationError: There is such a key.
    """
    given = [name for name in _TLS_FILES if getattr(config, name) is not None]
    if given and config.security_protocol != "SSL":
        raise ConfigurationError(
            f"{given[0]} ({_TLS_FILES[given[0]].name}) is set, but security_protocol (security.protocol) is "
            f"{config.security_protocol!r}, so that nothing would be encrypted; "
            "set security_protocol to 'SSL' or remove the ssl keys"
        )
    needed = {"ssl_certificate_location", "ssl_key_location"}
    if len(needed.intersection(given)) == 1:
        (missing,) = needed.difference(given)
        raise ConfigurationError(
            f"{missing} ({_TLS_FILES[missing].name}) is missing: a client certificate needs its private key and the "
            f"key its certificate; give both or neither of {' and '.join(sorted(needed))}"
        )


_TLS_FILES = {
    "ssl_ca_location": SSL_CA_LOCATION,
    "ssl_certificate_location": SSL_CERTIFICATE_LOCATION,
    "ssl_key_location": SSL_KEY_LOCATION,
    "ssl_key_password": SSL_KEY_PASSWORD,
}
