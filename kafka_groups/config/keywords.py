"""A share consumer's keys as keyword arguments, so that editors complete them and type checkers check them.

Made by `python -m tests.support.keywords` from kafka_groups/config/share.py.
Edit those and run it again; do not edit this module.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypedDict

__all__ = ["ShareConsumerKeywords"]


class ShareConsumerKeywords(TypedDict, total=False):
    """The keyword arguments of a share consumer."""

    bootstrap_servers: str | Sequence[str] | Sequence[tuple[str, int]]
    """`bootstrap.servers`: Brokers to ask first; any of them tells about all others."""

    group_id: str
    """`group.id`: The group to be a member of."""

    client_id: str
    """`client.id`: The name of the client in the brokers' logs, metrics and quotas, and in descriptions of the
    group."""

    client_rack: str
    """`client.rack`: The rack that the client is in; the coordinator shows it. Empty for none."""

    acknowledgement_mode: Literal["implicit", "explicit"]
    """`share.acknowledgement.mode`: implicit: the next poll or commit accepts all records that were delivered.
    explicit: the application acknowledges every record before it polls again."""

    acquire_mode: Literal["batch_optimized", "record_limit"]
    """`share.acquire.mode`: batch_optimized: whole batches of the log are acquired, so that a poll may return more than
    max.poll.records. record_limit: never more than max.poll.records, at a lower rate (KIP-1206)."""

    max_poll_records: int
    """`max.poll.records`: How many records one fetch asks for; a limit in the record_limit mode, a wish otherwise."""

    fetch_min_bytes: int
    """`fetch.min.bytes`: The broker waits until it has this much, or fetch.max.wait.ms is over."""

    fetch_max_bytes: int
    """`fetch.max.bytes`: The most that one response holds; a single larger batch is still returned."""

    fetch_max_wait_ms: int
    """`fetch.max.wait.ms`: How long the broker may wait for fetch.min.bytes."""

    max_poll_interval_ms: int
    """`max.poll.interval.ms`: An application that does not poll for this long leaves the group, and its records go to
    other members."""

    default_api_timeout_ms: int
    """`default.api.timeout.ms`: How long a call that was given no timeout may take."""

    request_timeout_ms: int
    """`request.timeout.ms`: How long one request waits for its response before the connection counts as lost."""

    check_crcs: bool
    """`check.crcs`: Whether the checksum of each record batch is checked before it is read."""

    allow_auto_create_topics: bool
    """`allow.auto.create.topics`: Whether the broker may create a subscribed topic that does not exist."""

    metadata_max_age_ms: int
    """`metadata.max.age.ms`: How old the client's picture of topics and brokers may become before it is asked for
    again."""

    retry_backoff_ms: int
    """`retry.backoff.ms`: The wait before a failed request is sent again; it doubles each time."""

    retry_backoff_max_ms: int
    """`retry.backoff.max.ms`: The longest wait before a failed request is sent again."""

    reconnect_backoff_ms: int
    """`reconnect.backoff.ms`: The wait before the next attempt to reach a broker that could not be reached; it doubles
    each time."""

    reconnect_backoff_max_ms: int
    """`reconnect.backoff.max.ms`: The longest wait between two attempts to reach a broker."""

    socket_connection_setup_timeout_ms: int
    """`socket.connection.setup.timeout.ms`: How long the set-up of a connection may take."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    """`security.protocol`: How to connect: SSL encrypts with TLS, SASL_… also authenticates with SASL."""

    ssl_ca_location: str | None
    """`ssl.ca.location`: A PEM file with the certificates to trust; the system's own by default."""

    ssl_ca_pem: str | None
    """`ssl.ca.pem`: The certificates to trust, as text instead of a file."""

    ssl_certificate_location: str | None
    """`ssl.certificate.location`: A PEM file with the client's certificate chain."""

    ssl_certificate_pem: str | None
    """`ssl.certificate.pem`: The client's certificate chain, as text instead of a file."""

    ssl_key_location: str | None
    """`ssl.key.location`: A PEM file with the private key of the client's certificate."""

    ssl_key_pem: str | None
    """`ssl.key.pem`: The private key of the client's certificate, as text instead of a file."""

    ssl_key_password: str | None
    """`ssl.key.password`: The password of the private key."""

    ssl_endpoint_identification_algorithm: Literal["https", "none"]
    """`ssl.endpoint.identification.algorithm`: Whether the broker's certificate must be for its host name (https) or
    not (none, or empty)."""

    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
    """`sasl.mechanism`: How to authenticate, if the security protocol is SASL_PLAINTEXT or SASL_SSL."""

    sasl_username: str | None
    """`sasl.username`: The user name for PLAIN and SCRAM."""

    sasl_password: str | None
    """`sasl.password`: The password for PLAIN and SCRAM."""

    sasl_jaas_config: str | None
    """`sasl.jaas.config`: The credentials as a Java client takes them: PlainLoginModule or ScramLoginModule with
    username and password, or OAuthBearerLoginModule with clientId, clientSecret, scope and extension_…."""

    oauth_cb: Callable[[str], object] | None
    """`oauth_cb`: Returns a token for OAUTHBEARER; may be `async`. It gets the text of sasl.oauthbearer.config, and
    returns the token, when it expires in seconds since the epoch, and optionally the principal and SASL extensions."""

    sasl_oauthbearer_config: str
    """`sasl.oauthbearer.config`: Text that is passed to the function in oauth_cb."""

    sasl_oauthbearer_method: Literal["default", "oidc"]
    """`sasl.oauthbearer.method`: Where tokens come from: oauth_cb (default), or the token endpoint of an identity
    provider (oidc)."""

    sasl_oauthbearer_client_id: str | None
    """`sasl.oauthbearer.client.id`: The client id for the token endpoint."""

    sasl_oauthbearer_client_secret: str | None
    """`sasl.oauthbearer.client.secret`: The client secret for the token endpoint."""

    sasl_oauthbearer_scope: str | None
    """`sasl.oauthbearer.scope`: The scope to request, if any."""

    sasl_oauthbearer_extensions: str | Mapping[str, str] | tuple[tuple[str, str], ...]
    """`sasl.oauthbearer.extensions`: SASL extensions to send with the token, such as
    logicalCluster=lkc-…,identityPoolId=pool-…."""

    sasl_oauthbearer_token_endpoint_url: str | None
    """`sasl.oauthbearer.token.endpoint.url`: The token endpoint of the identity provider (OAuth 2.0 client
    credentials)."""

    sasl_oauthbearer_header_urlencode: bool
    """`sasl.oauthbearer.header.urlencode`: Whether client id and secret are URL-encoded before they are sent, as RFC
    6749 asks and few providers need."""

    https_ca_location: str | None
    """`https.ca.location`: A PEM file with the certificates to trust at the token endpoint; the system's own by
    default."""

    prefetch_batches: int
    """`prefetch.batches`: How many batches per leader are fetched ahead while the application works; 0 turns it off."""

    auto_renew: bool
    """`auto.renew`: Whether the locks of records that were handed out and not yet acknowledged are renewed before they
    run out (KIP-1222). Explicit mode only."""

    on_deserialization_error: Literal["release", "raise"]
    """`on.deserialization.error`: release: a record that fails to deserialise has no value; its error and raw_value say
    why. It is released unless you acknowledge it. raise: poll raises, as in Java."""

    unknown_config: Literal["raise", "warn"]
    """`unknown.config`: What happens with keys that a share consumer does not have. raise: one error names all of them.
    warn: each is logged as a warning and ignored, so that a configuration made for another client can be tried."""
