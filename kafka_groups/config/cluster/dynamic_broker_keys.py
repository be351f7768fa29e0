"""The configs of Kafka 4.4.0's brokers: which can change while a broker runs, and the types and bounds of these.

The tables are what a Kafka 4.4.0 describes; a test compares them with one. What the embedded broker does with them is a
matter of `broker.configs`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen

from kafka_groups.config.keys import KeyType

__all__ = [
    "DYNAMIC_KEYS",
    "ONE_BROKER_KEYS",
    "PER_LISTENER_KEYS",
    "STATIC_KEYS",
    "TOPIC_KEY_OF",
    "DynamicBrokerKey",
]


@frozen
class DynamicBrokerKey:
    """A config that can change while a broker runs.

    Attributes:
        name: Its name.
        type: The type of its values.
        least: The least number allowed; None without a bound.
        most: The largest number allowed; None without a bound.
    """

    name: str
    type: KeyType
    least: float | None = None
    most: float | None = None


_DYNAMIC: Final[Mapping[KeyType, str]] = {
    KeyType.BOOLEAN: """
        errors.deadletterqueue.auto.create.topics.enable follower.fetch.last.tiered.offset.enable log.preallocate
        transaction.partition.verification.enable unclean.leader.election.enable
    """,
    KeyType.STRING: """
        compression.type errors.deadletterqueue.topic.name.prefix listener.security.protocol.map
        log.message.timestamp.type max.connections.per.ip.overrides sasl.kerberos.kinit.cmd sasl.kerberos.service.name
        sasl.mechanism.inter.broker.protocol ssl.client.auth ssl.endpoint.identification.algorithm
        ssl.keymanager.algorithm ssl.keystore.location ssl.keystore.type ssl.protocol ssl.provider
        ssl.secure.random.implementation ssl.trustmanager.algorithm ssl.truststore.location ssl.truststore.type
    """,
    KeyType.INT: """
        background.threads[1:] compression.gzip.level compression.lz4.level[1:17] compression.zstd.level[-131072:22]
        group.consumer.assignment.interval.ms[0:] group.coordinator.cached.buffer.max.bytes[524288:]
        group.share.assignment.interval.ms[0:] group.streams.assignment.interval.ms[0:] log.cleaner.io.buffer.size[0:]
        log.cleaner.threads[0:] log.index.interval.bytes[0:] log.index.size.max.bytes[4:] log.segment.bytes[1048576:]
        max.connection.creation.rate[0:] max.connections[0:] max.connections.per.ip[0:]
        max.decompressed.message.bytes[1:2147483639] message.max.bytes[0:] min.insync.replicas[1:] num.io.threads[1:]
        num.network.threads[1:] num.recovery.threads.per.data.dir[1:] num.replica.fetchers[1:]
        producer.id.expiration.ms[1:] remote.fetch.max.wait.ms[1:] remote.log.manager.copier.thread.pool.size[1:]
        remote.log.manager.expiration.thread.pool.size[1:] remote.log.manager.follower.thread.pool.size[1:]
        remote.log.reader.threads[1:] share.coordinator.cached.buffer.max.bytes[524288:]
    """,
    KeyType.SHORT: """
        sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
    """,
    KeyType.LONG: """
        log.cleaner.backoff.ms[0:] log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms[0:]
        log.cleaner.max.compaction.lag.ms[1:] log.cleaner.min.compaction.lag.ms[0:] log.flush.interval.messages[1:]
        log.flush.interval.ms log.local.retention.bytes[-2:] log.local.retention.ms[-2:]
        log.message.timestamp.after.max.ms[0:] log.message.timestamp.before.max.ms[0:] log.remote.copy.lag.bytes[-1:]
        log.remote.copy.lag.ms[-1:] log.retention.bytes log.retention.ms log.roll.jitter.ms log.roll.ms
        log.segment.delete.delay.ms[0:] remote.list.offsets.request.timeout.ms[1:]
        remote.log.index.file.cache.total.size.bytes[1:] remote.log.manager.copy.max.bytes.per.second[1:]
        remote.log.manager.fetch.max.bytes.per.second[1:] sasl.kerberos.min.time.before.relogin
    """,
    KeyType.DOUBLE: """
        log.cleaner.io.buffer.load.factor log.cleaner.io.max.bytes.per.second log.cleaner.min.cleanable.ratio[0:1]
        sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.window.factor
        sasl.login.refresh.window.jitter
    """,
    KeyType.LIST: """
        config.providers cordoned.log.dirs listeners log.cleanup.policy metric.reporters sasl.enabled.mechanisms
        sasl.kerberos.principal.to.local.rules ssl.cipher.suites ssl.enabled.protocols
    """,
    KeyType.CLASS: """
        principal.builder.class ssl.engine.factory.class
    """,
    KeyType.PASSWORD: """
        sasl.jaas.config ssl.key.password ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.password
        ssl.truststore.certificates ssl.truststore.password
    """,
}
"""Names by type, with bounds of numbers in brackets."""
_STATIC: Final = """
    add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms advertised.listeners
    alter.config.policy.class.name alter.log.dirs.replication.quota.window.num
    alter.log.dirs.replication.quota.window.size.seconds authorizer.class.name auto.create.topics.enable
    auto.leader.rebalance.enable broker.heartbeat.interval.ms broker.id broker.rack broker.session.timeout.ms
    client.quota.callback.class connection.failed.authentication.delay.ms connections.max.idle.ms
    connections.max.reauth.ms controlled.shutdown.enable controller.listener.names controller.quorum.append.linger.ms
    controller.quorum.auto.join.enable controller.quorum.bootstrap.servers controller.quorum.election.backoff.max.ms
    controller.quorum.election.timeout.ms controller.quorum.fetch.max.bytes controller.quorum.fetch.snapshot.max.bytes
    controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
    controller.quorum.voters controller.quota.window.num controller.quota.window.size.seconds
    controller.socket.timeout.ms create.topic.policy.class.name default.replication.factor
    delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms delegation.token.max.lifetime.ms
    delegation.token.secret.key delete.records.purgatory.purge.interval.requests delete.topic.enable
    early.start.listeners fetch.max.bytes fetch.purgatory.purge.interval.requests group.consumer.assignors
    group.consumer.heartbeat.interval.ms group.consumer.max.assignment.interval.ms
    group.consumer.max.heartbeat.interval.ms group.consumer.max.session.timeout.ms group.consumer.max.size
    group.consumer.migration.policy group.consumer.min.assignment.interval.ms group.consumer.min.heartbeat.interval.ms
    group.consumer.min.session.timeout.ms group.consumer.session.timeout.ms group.coordinator.append.linger.ms
    group.coordinator.background.threads group.coordinator.rebalance.protocols group.coordinator.threads
    group.initial.rebalance.delay.ms group.max.session.timeout.ms group.max.size group.min.session.timeout.ms
    group.share.assignors group.share.delivery.count.limit group.share.heartbeat.interval.ms
    group.share.max.assignment.interval.ms group.share.max.delivery.count.limit group.share.max.heartbeat.interval.ms
    group.share.max.partition.max.record.locks group.share.max.record.lock.duration.ms
    group.share.max.session.timeout.ms group.share.max.share.sessions group.share.max.size
    group.share.min.assignment.interval.ms group.share.min.delivery.count.limit group.share.min.heartbeat.interval.ms
    group.share.min.partition.max.record.locks group.share.min.record.lock.duration.ms
    group.share.min.session.timeout.ms group.share.partition.max.record.locks group.share.record.lock.duration.ms
    group.share.session.timeout.ms group.streams.assignors group.streams.heartbeat.interval.ms
    group.streams.initial.rebalance.delay.ms group.streams.max.assignment.interval.ms
    group.streams.max.heartbeat.interval.ms group.streams.max.session.timeout.ms group.streams.max.size
    group.streams.max.standby.replicas group.streams.min.assignment.interval.ms
    group.streams.min.heartbeat.interval.ms group.streams.min.session.timeout.ms group.streams.num.standby.replicas
    group.streams.rack.aware.assignment.tags group.streams.session.timeout.ms
    group.streams.topology.description.plugin.class initial.broker.registration.timeout.ms inter.broker.listener.name
    kafka.metrics.polling.interval.secs kafka.metrics.reporters leader.imbalance.check.interval.seconds
    log.cleaner.enable log.dir log.dir.failure.timeout.ms log.dirs log.flush.offset.checkpoint.interval.ms
    log.flush.scheduler.interval.ms log.flush.start.offset.checkpoint.interval.ms log.retention.check.interval.ms
    log.retention.hours log.retention.minutes log.roll.hours log.roll.jitter.hours
    max.incremental.fetch.session.cache.slots max.request.partition.size.limit metadata.log.dir
    metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms metadata.log.segment.bytes
    metadata.log.segment.ms metadata.max.idle.interval.ms metadata.max.retention.bytes metadata.max.retention.ms
    metrics.num.samples metrics.recording.level metrics.sample.window.ms node.id num.partitions
    num.replica.alter.log.dirs.threads offset.metadata.max.bytes offsets.commit.timeout.ms offsets.load.buffer.size
    offsets.retention.check.interval.ms offsets.retention.minutes offsets.topic.compression.codec
    offsets.topic.num.partitions offsets.topic.replication.factor offsets.topic.segment.bytes process.roles
    producer.purgatory.purge.interval.requests queued.max.request.bytes queued.max.requests quota.window.num
    quota.window.size.seconds remote.log.manager.copy.quota.window.num
    remote.log.manager.copy.quota.window.size.seconds remote.log.manager.fetch.quota.window.num
    remote.log.manager.fetch.quota.window.size.seconds remote.log.manager.task.interval.ms
    remote.log.manager.thread.pool.size remote.log.metadata.custom.metadata.max.bytes
    remote.log.metadata.manager.class.name remote.log.metadata.manager.class.path
    remote.log.metadata.manager.impl.prefix remote.log.metadata.manager.listener.name
    remote.log.reader.max.pending.tasks remote.log.storage.manager.class.name remote.log.storage.manager.class.path
    remote.log.storage.manager.impl.prefix remote.log.storage.system.enable replica.fetch.backoff.ms
    replica.fetch.max.bytes replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.wait.max.ms
    replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms replica.selector.class
    replica.socket.receive.buffer.bytes replica.socket.timeout.ms replication.quota.window.num
    replication.quota.window.size.seconds request.timeout.ms sasl.client.callback.handler.class
    sasl.login.callback.handler.class sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
    sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism.controller.protocol
    sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
    sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
    sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
    sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope
    sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url
    sasl.server.callback.handler.class sasl.server.max.receive.size security.inter.broker.protocol security.providers
    share.coordinator.append.linger.ms share.coordinator.load.buffer.size
    share.coordinator.snapshot.update.records.per.snapshot share.coordinator.state.topic.compression.codec
    share.coordinator.state.topic.min.isr share.coordinator.state.topic.num.partitions
    share.coordinator.state.topic.replication.factor share.coordinator.state.topic.segment.bytes
    share.coordinator.threads share.coordinator.write.timeout.ms share.fetch.purgatory.purge.interval.requests
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms socket.listen.backlog.size
    socket.receive.buffer.bytes socket.request.max.bytes socket.send.buffer.bytes ssl.allow.dn.changes
    ssl.allow.san.changes ssl.principal.mapping.rules telemetry.max.bytes
    transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
    transaction.remove.expired.transaction.cleanup.interval.ms transaction.state.log.load.buffer.size
    transaction.state.log.min.isr transaction.state.log.num.partitions transaction.state.log.replication.factor
    transaction.state.log.segment.bytes transaction.two.phase.commit.enable transactional.id.expiration.ms
"""


def _parsed(text: str, key_type: KeyType) -> DynamicBrokerKey:
    name, _, bounds = text.rstrip("]").partition("[")
    least, _, most = bounds.partition(":")
    return DynamicBrokerKey(name, key_type, float(least) if least else None, float(most) if most else None)


DYNAMIC_KEYS: Mapping[str, DynamicBrokerKey] = MappingProxyType(
    {
        key.name: key
        for key_type, texts in _DYNAMIC.items()
        for key in (_parsed(each, key_type) for each in texts.split())
    }
)
"""The configs that can change, by name."""
STATIC_KEYS: frozenset[str] = frozenset(_STATIC.split())
"""The names of all others."""

TOPIC_KEY_OF: Mapping[str, str] = MappingProxyType({
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "log.cleaner.delete.retention.ms": "delete.retention.ms",
    "log.cleaner.max.compaction.lag.ms": "max.compaction.lag.ms",
    "log.cleaner.min.cleanable.ratio": "min.cleanable.dirty.ratio",
    "log.cleaner.min.compaction.lag.ms": "min.compaction.lag.ms",
    "log.cleanup.policy": "cleanup.policy",
    "log.flush.interval.messages": "flush.messages",
    "log.flush.interval.ms": "flush.ms",
    "log.index.interval.bytes": "index.interval.bytes",
    "log.index.size.max.bytes": "segment.index.bytes",
    "log.local.retention.bytes": "local.retention.bytes",
    "log.local.retention.ms": "local.retention.ms",
    "log.message.timestamp.after.max.ms": "message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms": "message.timestamp.before.max.ms",
    "log.message.timestamp.type": "message.timestamp.type",
    "log.preallocate": "preallocate",
    "log.retention.bytes": "retention.bytes",
    "log.retention.ms": "retention.ms",
    "log.roll.jitter.ms": "segment.jitter.ms",
    "log.roll.ms": "segment.ms",
    "log.segment.bytes": "segment.bytes",
    "log.segment.delete.delay.ms": "file.delete.delay.ms",
    "message.max.bytes": "max.message.bytes",
    "min.insync.replicas": "min.insync.replicas",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
})  # fmt: skip
"""The dynamic configs that are defaults of topics, with the names that these have there."""
PER_LISTENER_KEYS = frozenset({
    "ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location",
    "ssl.keystore.password", "ssl.keystore.type", "ssl.truststore.certificates", "ssl.truststore.location",
    "ssl.truststore.password", "ssl.truststore.type",
})  # fmt: skip
"""The dynamic configs that need the prefix of a listener."""
ONE_BROKER_KEYS = frozenset({
    name for name in DYNAMIC_KEYS if name.startswith(("ssl.", "sasl.")) or name in {
        "listener.security.protocol.map", "listeners", "principal.builder.class",
    }
})  # fmt: skip
"""The dynamic configs that cannot be set for all brokers at once."""
