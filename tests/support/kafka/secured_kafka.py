"""A real Kafka with a listener for each kind of security, and with authorization by ACLs on all of them."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kafka_groups.testing.kafka_jars import RealKafkaUnavailableError
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.testing.pytest_plugin import skip_unless_required
from tests.support.certificates import Certificates
from tests.support.kafka.real_kafka import unique

__all__ = ["ODD_SECRET", "PLAIN_SECRET", "SECRET", "SESSION_MS", "SecuredKafka", "running_secured_kafka"]

SECRET, PLAIN_SECRET = "Tr0ub4dor&3, =ü", "plain secret"
ODD_SECRET = " ①ﬁ\u00a0 "  # SASLprep would change it; Kafka takes it as it is
SESSION_MS = 3_000
MODULES = "org.apache.kafka.common.security"

Keys = Mapping[str, Any]


class SecuredKafka:
    """One broker with a listener for each kind of security, and authorization by ACLs on all of them."""

    def __init__(self, process: KafkaProcess, certificates: Certificates) -> None:
        self.process = process
        self.certificates = certificates
        self.admin = AdminClient({"bootstrap.servers": process.bootstrap_servers})

    def keys(self, listener: str, keys: Keys) -> dict[str, Any]:
        """The configuration of a client at a listener."""
        given = {
            "bootstrap.servers": self.process.address(listener),
            "security.protocol": LISTENERS[listener],
            **({"ssl.ca.location": self.certificates.ca} if LISTENERS[listener].endswith("SSL") else {}),
            **keys,
        }
        return {name: value for name, value in given.items() if value is not None}

    def create_topic(self) -> str:
        """A new topic with a record."""
        topic = unique("secured")
        self.admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
        producer = Producer({"bootstrap.servers": self.process.bootstrap_servers})
        producer.produce(topic, b"one")
        assert producer.flush(30) == 0
        return topic

    def create_group(self) -> str:
        """A new group that begins at the beginning."""
        group = unique("secured")
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in {"share.auto.offset.reset": "earliest", "share.heartbeat.interval.ms": "500"}.items()
        ]
        resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=entries)
        self.admin.incremental_alter_configs([resource])[resource].result(30)
        return group

    def allow(
        self,
        kind: ResourceType,
        name: str,
        operation: AclOperation,
        user: str = "ann",
        pattern: ResourcePatternType = ResourcePatternType.LITERAL,
    ) -> None:
        """Allow a user something, and wait until the broker knows."""
        self._wait(self.admin.create_acls([self._binding(kind, name, operation, user, pattern)]))

    def forbid(
        self,
        kind: ResourceType,
        name: str,
        operation: AclOperation,
        user: str = "ann",
        pattern: ResourcePatternType = ResourcePatternType.LITERAL,
    ) -> None:
        """Take back what was allowed."""
        binding = self._binding(kind, name, operation, user, pattern)
        filter_ = AclBindingFilter(
            binding.restype, binding.name, binding.resource_pattern_type, binding.principal, binding.host,
            binding.operation, binding.permission_type,
        )  # fmt: skip
        self._wait(self.admin.delete_acls([filter_]))

    @staticmethod
    def _binding(
        kind: ResourceType, name: str, operation: AclOperation, user: str, pattern: ResourcePatternType
    ) -> AclBinding:
        return AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)

    @staticmethod
    def _wait(futures: Mapping[Any, Any]) -> None:
        for future in futures.values():
            future.result(30)


LISTENERS = {
    "SASLTLS": "SASL_SSL",
    "OAUTH": "SASL_PLAINTEXT",
    "MUTUAL": "SSL",
    "NAMED": "SSL",
    "PLAINTEXT": "PLAINTEXT",
}


def _properties(certificates: Certificates) -> dict[str, str]:
    tls = {"ssl.keystore.type": "PEM", "ssl.keystore.location": certificates.server}
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": certificates.ca}

    sasl_tls = {
        **tls,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "plain.sasl.jaas.config": f'{MODULES}.plain.PlainLoginModule required user_ann="plain secret";',
        "scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
        "scram-sha-512.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
        "scram-sha-512.connections.max.reauth.ms": str(SESSION_MS),
    }
    oauth = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "oauthbearer.sasl.jaas.config": f"{MODULES}.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="broker";',
    }
    named = {**tls, **trust, "ssl.client.auth": "required"}
    mutual = {**named, "ssl.principal.mapping.rules": "RULE:^.*CN=([^,]+).*$/$1/,DEFAULT"}
    listeners = {"sasltls": sasl_tls, "oauth": oauth, "mutual": mutual, "named": named}
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "connection.failed.authentication.delay.ms": "10",
        **{f"listener.name.{name}.{key}": value for name, keys in listeners.items() for key, value in keys.items()},
    }


@contextlib.contextmanager
def running_secured_kafka(directory: Path) -> Iterator[SecuredKafka]:
    """Run one, with the users ann and odd. Skips the test if there is no real Kafka here."""
    certificates = Certificates(directory)
    listeners = {name: protocol for name, protocol in LISTENERS.items() if name != "PLAINTEXT"}
    process = KafkaProcess(properties=_properties(certificates), listeners=listeners)
    try:
        process.start()
    except RealKafkaUnavailableError as error:
        skip_unless_required(str(error))
    with contextlib.closing(process):
        kafka = SecuredKafka(process, certificates)
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            for user, password in {"ann": SECRET, "odd": ODD_SECRET}.items():
                info = ScramCredentialInfo(mechanism, 8192)
                upsert = UserScramCredentialUpsertion(user, info, password.encode())
                kafka.admin.alter_user_scram_credentials([upsert])[user].result(30)
        yield kafka
