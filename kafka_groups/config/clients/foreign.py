"""Keys of other Kafka clients that a share consumer does not have, each with the reason and what to do instead.

The names are those of Kafka's Java consumer, of librdkafka, and of confluent-kafka's callbacks. A test compares the
table with the lists that Kafka and librdkafka give of themselves, so that a new release of either shows up.
"""

from collections.abc import Mapping
from typing import Final

__all__ = ["FORBIDDEN", "FOREIGN", "Advice", "advice"]

Advice = tuple[str, str]
"""The reason why a key is not supported, and what to do instead; each is half a sentence."""

_REMOVE: Final = "remove it"

_ACKNOWLEDGEMENTS: Advice = (
    "share groups acknowledge records instead of committing offsets",
    "remove it and choose acknowledgement_mode='implicit' or 'explicit'",
)

FORBIDDEN: Final[Mapping[str, Advice]] = {
    "auto.offset.reset": (
        "the starting position is a setting of the share group, not of its members",
        "set the group configuration share.auto.offset.reset",
    ),
    "enable.auto.commit": _ACKNOWLEDGEMENTS,
    "group.instance.id": ("share groups have no static members", _REMOVE),
    "isolation.level": (
        "the isolation level is a setting of the share group, not of its members",
        "set the group configuration share.isolation.level",
    ),
    "partition.assignment.strategy": ("the coordinator assigns the partitions of a share group", _REMOVE),
    "interceptor.classes": ("share consumers have no interceptors", "process the records after poll"),
    "session.timeout.ms": (
        "the session timeout is a setting of the share group, not of its members",
        "set the group configuration share.session.timeout.ms",
    ),
    "heartbeat.interval.ms": (
        "the coordinator tells the members how often to send heartbeats",
        "set the group configuration share.heartbeat.interval.ms",
    ),
    "group.protocol": ("a share consumer always uses the share group protocol", _REMOVE),
    "group.remote.assignor": ("share groups have one assignor, which runs on the coordinator", _REMOVE),
}
"""Keys that Kafka's own share consumer refuses too."""

_NOT_CONSUMED_HERE: Final = "set it on the producer and remove it here"
_PRODUCER: Advice = ("it configures a producer", _NOT_CONSUMED_HERE)
_SEE_LOGGING: Advice = (
    "the client logs through Python's logging",
    "set levels and handlers of the logger 'kafka_groups' and remove it",
)
_METRICS: Advice = ("the client's metrics are read with a call", "call consumer.metrics() and remove it")
_CALLBACK_OF_ERRORS: Advice = (
    "errors are raised by poll and commit, not passed to a callback",
    "handle KafkaGroupsError around poll and remove it",
)
_NO_OFFSETS: Advice = ("share groups do not store offsets on the client", _REMOVE)
_FETCHING: Advice = ("the client decides itself when to fetch", "remove it, or tune fetch_* and prefetch_batches")
_JAVA_STORES: Advice = (
    "Java and PKCS#12 key stores are not supported",
    "use PEM files: ssl_ca_location, ssl_certificate_location, ssl_key_location, or set the type of the store to PEM",
)
_PEM_TEXT: Advice = (
    "certificates and keys are given in PEM",
    "use ssl_ca_pem, ssl_certificate_pem and ssl_key_pem, or the keys that end in _location",
)
_TLS_STACK: Advice = ("Python's ssl module chooses it", _REMOVE)
_NO_REVOCATION: Advice = (
    "certificate revocation lists are not checked",
    "remove it if your policy allows connections without revocation checks",
)
_LOGIN: Advice = ("the client renews tokens and authentication by itself", _REMOVE)
_CALLBACK_HANDLERS: Advice = (
    "Java classes cannot be loaded",
    "pass a function in oauth_cb, or set sasl_oauthbearer_method to 'oidc'",
)
_OTHER_TOKENS: Advice = (
    "only tokens of client credentials are fetched by the client",
    "get the token in a function and pass that in oauth_cb",
)
_VALIDATION: Advice = ("it configures how a broker checks tokens", _REMOVE)
_KERBEROS: Advice = ("Kerberos (SASL/GSSAPI) is not supported", "use another listener of the cluster")
_SOCKET: Advice = ("sockets keep their system defaults (with TCP_NODELAY)", _REMOVE)
_RECONNECT: Advice = (
    "the client finds and reconnects to brokers by itself",
    "remove it, or tune reconnect_backoff_ms and reconnect_backoff_max_ms",
)
_METADATA: Advice = (
    "the client refreshes metadata when it needs to and every metadata_max_age_ms",
    "remove it, or set metadata_max_age_ms",
)
_ADDRESSES: Advice = ("every address of a host name is tried", _REMOVE)
_VERSIONS: Advice = ("the client always negotiates versions with the broker", _REMOVE)
_INTERNAL: Advice = ("it is specific to the client it was written for", _REMOVE)
_TELEMETRY: Advice = ("the client does not push metrics to brokers (KIP-714)", "call consumer.metrics() and remove it")
_TIMEOUT_OF_SETUP: Advice = (
    "the time limit for setting up a connection does not grow",
    "set socket_connection_setup_timeout_ms",
)
_REGISTRY: Advice = (
    "it configures a schema registry client",
    "give it to SchemaRegistryClient, and a deserializer made from that as value_deserializer",
)

_GROUPED: Final[Mapping[Advice, str]] = {
    _ACKNOWLEDGEMENTS: "auto.commit.enable auto.commit.interval.ms enable.auto.offset.store offset_commit_cb on_commit",
    _NO_OFFSETS: "offset.store.method offset.store.path offset.store.sync.interval.ms",
    _FETCHING: "queued.min.messages queued.max.messages.kbytes fetch.queue.backoff.ms fetch.error.backoff.ms "
    "consume.callback.max.messages queuing.strategy",
    ("share fetches have no limit for each partition", "set fetch_max_bytes"): "max.partition.fetch.bytes "
    "fetch.message.max.bytes",
    ("a share consumer does not track the end of a partition", "compare the group's lag with 0, or poll until empty"): (
        "enable.partition.eof"
    ),
    ("share groups have no rebalance callbacks", "remove it"): "rebalance_cb on_assign on_revoke on_lost",
    ("subscriptions name topics, not patterns", _REMOVE): "exclude.internal.topics topic.blacklist",
    ("messages come from poll, not from a callback", "call poll, or iterate over the consumer"): "consume_cb",
    ("the client finds the group's coordinator when it needs it", _REMOVE): "coordinator.query.interval.ms "
    "group.protocol.type",
    ("the limit is fetch_max_bytes", "set fetch_max_bytes"): "receive.message.max.bytes",
    _PRODUCER: "acks batch.num.messages batch.size buffer.memory buffer.memory.allocation.strategy compression.codec "
    "compression.gzip.level compression.level compression.lz4.level compression.type compression.zstd.level "
    "delivery.report.only.error delivery.timeout.ms dr_cb dr_msg_cb enable.gapless.guarantee enable.idempotence "
    "key.serializer linger.ms max.block.ms max.in.flight max.in.flight.requests.per.connection max.request.size "
    "message.copy.max.bytes message.max.bytes message.send.max.retries message.timeout.ms metadata.max.idle.ms "
    "msg_order_cmp on_delivery partitioner partitioner.adaptive.partitioning.enable "
    "partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys partitioner.rack.aware "
    "partitioner_cb produce.offset.report queue.buffering.backpressure.threshold queue.buffering.max.kbytes "
    "queue.buffering.max.messages queue.buffering.max.ms request.required.acks retries sticky.partitioning.linger.ms "
    "transaction.timeout.ms transaction.two.phase.commit.enable transactional.id value.serializer",
    _SEE_LOGGING: "debug log.connection.close log.queue log.thread.name log_cb log_level logger enabled_events",
    _METRICS: "statistics.interval.ms stats_cb throttle_cb metric.reporters metrics.num.samples "
    "metrics.recording.level metrics.sample.window.ms",
    _TELEMETRY: "enable.metrics.push",
    _CALLBACK_OF_ERRORS: "error_cb background_event_cb",
    _JAVA_STORES: "ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.truststore.location "
    "ssl.truststore.password ssl.truststore.type",
    _PEM_TEXT: "ssl_ca ssl_certificate ssl_key",
    _TLS_STACK: "ssl.cipher.suites ssl.curves.list ssl.enabled.protocols ssl.engine.factory.class ssl.engine.id "
    "ssl.engine.location ssl.keymanager.algorithm ssl.protocol ssl.provider ssl.providers "
    "ssl.secure.random.implementation ssl.sigalgs.list ssl.trustmanager.algorithm ssl_engine_callback_data "
    "security.providers ssl.certificate.verify_cb",
    ("the system's certificates are used when ssl_ca_location is not set", "set ssl_ca_location"): (
        "ssl.ca.certificate.stores"
    ),
    ("broker certificates are always verified", "trust the broker's issuer with ssl_ca_location"): (
        "enable.ssl.certificate.verification"
    ),
    _NO_REVOCATION: "ssl.crl.location",
    _CALLBACK_HANDLERS: "sasl.client.callback.handler.class sasl.login.callback.handler.class sasl.login.class "
    "sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class oauthbearer_token_refresh_cb",
    _LOGIN: "sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds "
    "sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter "
    "sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms",
    _OTHER_TOKENS: "enable.sasl.oauthbearer.unsecure.jwt sasl.oauthbearer.assertion.algorithm "
    "sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds "
    "sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include "
    "sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file "
    "sasl.oauthbearer.assertion.jwt.template.file sasl.oauthbearer.assertion.private.key.file "
    "sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.private.key.pem "
    "sasl.oauthbearer.assertion.template.file sasl.oauthbearer.grant.type "
    "sasl.oauthbearer.metadata.authentication.type",
    _VALIDATION: "sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer "
    "sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer "
    "sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms "
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url "
    "sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name",
    ("certificates of the token endpoint are read from a file", "use https_ca_location"): "https.ca.pem",
    _KERBEROS: "sasl.kerberos.keytab sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin "
    "sasl.kerberos.principal sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter "
    "sasl.kerberos.ticket.renew.window.factor",
    _SOCKET: "receive.buffer.bytes send.buffer.bytes socket.blocking.max.ms socket.keepalive.enable socket.max.fails "
    "socket.nagle.disable socket.receive.buffer.bytes socket.send.buffer.bytes connect_cb socket_cb closesocket_cb "
    "open_cb resolve_cb",
    _RECONNECT: "bootstrap.resolve.timeout.ms connections.max.idle.ms metadata.recovery.rebootstrap.trigger.ms "
    "metadata.recovery.strategy reconnect.backoff.jitter.ms enable.sparse.connections metadata.cluster.check.enable",
    _TIMEOUT_OF_SETUP: "socket.connection.setup.timeout.max.ms",
    _METADATA: "metadata.request.timeout.ms topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt "
    "topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse",
    _ADDRESSES: "broker.address.family broker.address.ttl client.dns.lookup",
    _VERSIONS: "api.version.fallback.ms api.version.request api.version.request.timeout.ms broker.version.fallback",
    _INTERNAL: "builtin.features client.software.name client.software.version config.providers enable.random.seed "
    "enable_sasl_queue interceptors internal.termination.signal internal.throw.on.fetch.stable.offset.unsupported "
    "opaque plugin.library.paths test.mock.broker.rtt test.mock.num.brokers",
    ("settings are not grouped by topic", "remove it"): "default.topic.config default_topic_conf",
    _REGISTRY: "schema.registry.url basic.auth.credentials.source basic.auth.user.info "
    "schema.registry.basic.auth.user.info schema.registry.ssl.truststore.location specific.avro.reader",
}

FOREIGN: Final[Mapping[str, Advice]] = {name: told for told, names in _GROUPED.items() for name in names.split()}
"""Keys of other clients that mean nothing to a share consumer."""


def advice(name: str) -> Advice | None:
    """Return why a share consumer does not have a key, and what to do; None for a key that no client has.

    Args:
        name: The key, with dots or underscores.
    """
    for spelling in (name, name.replace("_", ".")):
        for table in (FORBIDDEN, FOREIGN):
            if spelling in table:
                return table[spelling]
    return None
