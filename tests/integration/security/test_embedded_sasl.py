"""Our client and confluent-kafka authenticate at the embedded broker: each way in, and each way to fail."""

import asyncio
import logging
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from kafka_groups import AsyncKafkaShareConsumer, KafkaShareConsumer
from kafka_groups.broker.api import metadata
from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.errors import (
    AuthenticationError,
    ConfigurationError,
    DisconnectedError,
    IllegalSaslStateError,
    KafkaGroupsError,
    SaslAuthenticationFailedError,
    TlsError,
    TokenError,
    UnsupportedSaslMechanismError,
)
from kafka_groups.librdkafka.durable_producer import DurableProducer
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import negotiate
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.net.tls import ServerTls
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_groups.protocol.sasl.oauthbearer import unsecured_token
from tests.support.certificates import DISTINGUISHED_NAME, KEY_PASSWORD, Certificates

SECRET = "Tr0ub4dor&3, =ü"
SETTINGS = {"connection.failed.authentication.delay.ms": 1}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

Keys = Mapping[str, Any]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[EmbeddedCluster]:
    """A cluster with TLS and all mechanisms."""
    security = BrokerSecurity(
        mechanisms=MECHANISMS,
        users={"ann": SECRET, "bob": "b"},
        tls=ServerTls(certificate_location=certificates.server),
    )
    with EmbeddedCluster(security=security, settings=SETTINGS) as running:
        running.create_topic("t")
        running.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        yield running


def oauth_cb(config: str) -> tuple[str, float]:
    expiry_s = SystemClock().wall_ms() / 1000 + 600
    return unsecured_token({"sub": config or "ann", "exp": expiry_s}), expiry_s


def password_keys(mechanism: str, password: str = SECRET, username: str = "ann") -> Keys:
    return {"sasl.mechanism": mechanism, "sasl.username": username, "sasl.password": password}


def jaas(module: str, options: str) -> str:
    return f"org.apache.kafka.common.security.{module} required {options};"


WAYS_IN: Mapping[str, Keys] = {
    "plain": password_keys("PLAIN"),
    "scram-256": password_keys("SCRAM-SHA-256"),
    "scram-512": password_keys("SCRAM-SHA-512"),
    "plain-jaas": {
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": jaas("plain.PlainLoginModule", f'username="ann" password="{SECRET}"'),
    },
    "scram-jaas": {
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.jaas.config": jaas("scram.ScramLoginModule", f'username=ann password="{SECRET}"'),
    },
    "oauth-callback": {"sasl.mechanisms": "OAUTHBEARER", "oauth_cb": oauth_cb, "sasl.oauthbearer.config": "ann"},
    "oauth-unsecured": {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": jaas("oauthbearer.OAuthBearerLoginModule", 'unsecuredLoginStringClaim_sub="ann"'),
    },
}


def consumer_keys(cluster: EmbeddedCluster, certificates: Certificates, keys: Keys) -> dict[str, Any]:
    given = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": "g",
        "default.api.timeout.ms": 20_000,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": certificates.ca,
        **keys,
    }
    return {name: value for name, value in given.items() if value is not None}


def produce(cluster: EmbeddedCluster, certificates: Certificates, value: bytes, **keys: Any) -> None:
    """With confluent-kafka, so that the embedded broker is judged by another client too."""
    producer = Producer({
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": certificates.ca,
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "ann",
        "sasl.password": SECRET,
        **keys,
    })  # fmt: skip
    producer.produce("t", value)
    assert producer.flush(20) == 0


def values_of(consumer: KafkaShareConsumer[Any, Any]) -> list[Any]:
    consumer.subscribe(["t"])
    for _ in range(40):
        found = [record.value for record in consumer.poll(0.5)]
        if found:
            return found
    return []


@pytest.mark.parametrize("way", WAYS_IN)
def test_each_way_in_delivers_records(way: str, cluster: EmbeddedCluster, certificates: Certificates) -> None:
    produce(cluster, certificates, way.encode())
    with KafkaShareConsumer(consumer_keys(cluster, certificates, WAYS_IN[way])) as consumer:
        assert values_of(consumer) == [way.encode()]
        consumer.commit_sync()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_librdkafka_authenticates(mechanism: str, cluster: EmbeddedCluster, certificates: Certificates) -> None:
    credentials: Keys = {"oauth_cb": oauth_cb} if mechanism == "OAUTHBEARER" else password_keys(mechanism)
    admin = AdminClient({
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": certificates.ca,
        "sasl.mechanism": mechanism,
        **credentials,
    })  # fmt: skip
    if mechanism == "OAUTHBEARER":
        admin.poll(0)  # librdkafka asks for the token here
    assert "t" in admin.list_topics(timeout=20).topics


@pytest.mark.parametrize("way", WAYS_IN)
def test_producers_of_the_spark_package_take_the_same_keys(
    way: str, cluster: EmbeddedCluster, certificates: Certificates
) -> None:
    """As dead letters and the Kafka sink are written: from a process that got the pickled producer."""
    keys = {**consumer_keys(cluster, certificates, WAYS_IN[way]), "group.id": "written"}
    producer: DurableProducer = pickle.loads(pickle.dumps(DurableProducer(keys)))
    cluster.create_topic(f"written-{way}")
    producer.produce(f"written-{way}", key=None, value=b"dead")
    producer.flush(20)
    assert SECRET not in repr(producer)


# ---------------------------------------------------------------------------------------------- each way to fail

WRONG_TOKEN = {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _config: ("not-a-jwt", 4e9)}
WAYS_TO_FAIL: Mapping[str, tuple[Keys, type[KafkaGroupsError], str]] = {
    "plain": (
        password_keys("PLAIN", "wrong"),
        SaslAuthenticationFailedError,
        r"refused the login as ann with PLAIN: .*\. Check the credent",
    ),
    "scram": (password_keys("SCRAM-SHA-256", "wrong"), SaslAuthenticationFailedError, "as ann with SCRAM-SHA-256"),
    "user": (password_keys("SCRAM-SHA-512", SECRET, "eve"), SaslAuthenticationFailedError, "as eve with SCRAM-SHA-512"),
    "token": (WRONG_TOKEN, SaslAuthenticationFailedError, "OAUTHBEARER.*invalid_token"),
    "callback": (
        {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _config: 1 / 0},
        TokenError,
        "oauth_cb raised ZeroDivisionError",
    ),
    "rubbish": ({"sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _config: None}, TokenError, "returned a NoneType"),
    "expired": (
        {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _config: ("t", 1)},
        TokenError,
        "expired .* s ago",
    ),
}


@pytest.mark.parametrize("way", WAYS_TO_FAIL)
def test_each_failure_says_what_failed_at_once_and_stays(
    way: str, cluster: EmbeddedCluster, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    keys, error, text = WAYS_TO_FAIL[way]
    caplog.set_level(logging.DEBUG)
    with KafkaShareConsumer(consumer_keys(cluster, certificates, keys)) as consumer:
        consumer.subscribe(["t"])
        with pytest.raises(error, match=text) as caught:
            consumer.poll(20)
        with pytest.raises(error):
            consumer.poll(20)
    assert isinstance(caught.value, AuthenticationError)
    assert "wrong" not in caplog.text + str(caught.value)


def test_mechanism_that_is_not_enabled_names_those_that_are(certificates: Certificates) -> None:
    security = BrokerSecurity(mechanisms=("SCRAM-SHA-512",), users={"ann": SECRET})
    with EmbeddedCluster(security=security, settings=SETTINGS) as cluster:
        keys = {**password_keys("PLAIN"), "security.protocol": "SASL_PLAINTEXT", "ssl.ca.location": None}
        with KafkaShareConsumer(consumer_keys(cluster, certificates, keys)) as consumer:
            consumer.subscribe(["t"])
            with pytest.raises(
                UnsupportedSaslMechanismError, match=r"does not support .* PLAIN\. .* one of: SCRAM-SHA-512"
            ):
                consumer.poll(20)


def test_sasl_at_a_port_without_it_says_so(certificates: Certificates) -> None:
    with EmbeddedCluster() as cluster:
        keys = {**password_keys("PLAIN"), "security.protocol": "SASL_PLAINTEXT", "ssl.ca.location": None}
        with KafkaShareConsumer(consumer_keys(cluster, certificates, keys)) as consumer:
            consumer.subscribe(["t"])
            with pytest.raises(IllegalSaslStateError, match="does not use SASL on this port"):
                consumer.poll(20)


def test_untrusted_broker_is_a_failure_of_tls(cluster: EmbeddedCluster, certificates: Certificates) -> None:
    keys = {**WAYS_IN["plain"], "ssl.ca.location": None, "ssl.ca.pem": certificates.other_ca_pem}
    with KafkaShareConsumer(consumer_keys(cluster, certificates, keys)) as consumer:
        consumer.subscribe(["t"])
        with pytest.raises(TlsError, match=r"is not trusted.*ssl\.ca\.location"):
            consumer.poll(20)


async def test_requests_before_authentication_close_the_connection() -> None:
    security = BrokerSecurity(mechanisms=("PLAIN",), users={"ann": SECRET})
    async with EmbeddedCluster(security=security) as cluster:
        host, _, port = cluster.bootstrap_servers.partition(":")
        connection = await ClientConnection.open(TcpNetwork(), host, int(port), "anonymous")
        deadline_ms = asyncio.get_running_loop().time() * 1000 + 10_000
        versions = await negotiate(connection, deadline_ms)
        with pytest.raises(DisconnectedError):
            await connection.request(MetadataRequest(), versions.version_for(MetadataRequest), deadline_ms)


def test_failure_of_authentication_is_answered_late(certificates: Certificates) -> None:
    security = BrokerSecurity(mechanisms=("PLAIN",), users={"ann": SECRET})
    delayed = {"connection.failed.authentication.delay.ms": 300}
    with EmbeddedCluster(security=security, settings=delayed) as cluster:
        keys = {**password_keys("PLAIN", "x"), "security.protocol": "SASL_PLAINTEXT", "ssl.ca.location": None}
        with KafkaShareConsumer(consumer_keys(cluster, certificates, keys)) as consumer:
            consumer.subscribe(["t"])
            before = time.perf_counter_ns()
            with pytest.raises(SaslAuthenticationFailedError):
                consumer.poll(20)
            assert time.perf_counter_ns() - before >= 300_000_000


# -------------------------------------------------------------------------------------------------- mutual TLS


def client_as_files(certificates: Certificates) -> Keys:
    return {"ssl.certificate.location": certificates.client, "ssl.key.location": certificates.client}


def client_with_password(certificates: Certificates) -> Keys:
    return {
        "ssl.certificate.location": certificates.client,
        "ssl.key.location": certificates.client_encrypted_key,
        "ssl.key.password": KEY_PASSWORD,
    }


def client_as_text(certificates: Certificates) -> Keys:
    return {
        "ssl.truststore.certificates": certificates.ca_pem,
        "ssl.ca.location": None,
        "ssl.keystore.certificate.chain": certificates.client_chain_pem,
        "ssl.keystore.key": certificates.client_key_pem,
    }


def client_as_stores(certificates: Certificates) -> Keys:
    return {
        "ssl.ca.location": None,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": certificates.ca,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": certificates.client,
    }


@pytest.fixture(scope="module")
def mutual(certificates: Certificates) -> Iterator[EmbeddedCluster]:
    tls = ServerTls(certificate_location=certificates.server, client_ca_location=certificates.ca)
    with EmbeddedCluster(security=BrokerSecurity(tls=tls)) as running:
        running.create_topic("t")
        running.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        yield running


@pytest.mark.parametrize("keys_of", [client_as_files, client_with_password, client_as_text, client_as_stores])
def test_client_certificate_in_files_in_text_and_in_stores_of_java(
    keys_of: Callable[[Certificates], Keys], mutual: EmbeddedCluster, certificates: Certificates
) -> None:
    files = client_as_files(certificates)
    no_sasl = {"sasl.mechanism": "PLAIN", "sasl.username": "unused", "sasl.password": "unused"}
    produce(mutual, certificates, b"mutual", **{"security.protocol": "SSL", **files, **no_sasl})
    keys = {"security.protocol": "SSL", **keys_of(certificates)}
    with KafkaShareConsumer(consumer_keys(mutual, certificates, keys)) as consumer:
        assert values_of(consumer) == [b"mutual"]
        consumer.commit_sync()


OF_NAME = r"RULE:^CN=((?:[^,\\]|\\.)*),.*$/$1/L,DEFAULT"


@pytest.mark.parametrize(
    ("has_login", "rules", "expected"),
    [
        (False, "DEFAULT", f"User:{DISTINGUISHED_NAME}"),
        (True, "DEFAULT", "User:ann"),
        (False, OF_NAME, r"User:josé\, ann"),
        (True, "RULE:nobody/x/", "User:ann"),
    ],
)
def test_a_certificate_names_its_client_if_there_is_no_login(
    has_login: bool, rules: str, expected: str, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Kafka: `test_each_way_in` asks a real one."""
    principals: set[str] = set()

    async def noted(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
        principals.add(context.principal)
        return await metadata.handle(request, context)

    monkeypatch.setattr("kafka_groups.broker.node.HANDLERS", {**HANDLERS, ApiKey.METADATA: noted})
    tls = ServerTls(certificate_location=certificates.server, client_ca_location=certificates.ca)
    security = BrokerSecurity(
        tls=tls, mechanisms=("PLAIN",) if has_login else (), users={"ann": "right"} if has_login else {}
    )
    client = certificates.named_client
    keys = {"ssl.ca.location": certificates.ca, "ssl.certificate.location": client, "ssl.key.location": client}
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": "right"} if has_login else {}
    with EmbeddedCluster(security=security, settings={"ssl.principal.mapping.rules": rules}) as running:
        keys |= {"bootstrap.servers": running.bootstrap_servers, "security.protocol": "SASL_SSL" if login else "SSL"}
        AdminClient({**keys, **login}).list_topics(timeout=30)
    assert principals == {expected}


def test_a_client_whose_certificate_no_rule_maps_is_refused(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "kafka_groups.broker.server")
    tls = ServerTls(certificate_location=certificates.server, client_ca_location=certificates.ca)
    rules = {"ssl.principal.mapping.rules": "RULE:CN=nobody/x/"}
    client = {"ssl.certificate.location": certificates.client, "ssl.key.location": certificates.client}
    with EmbeddedCluster(security=BrokerSecurity(tls=tls), settings=rules) as running:
        keys = {"bootstrap.servers": running.bootstrap_servers, "security.protocol": "SSL", **client}
        admin = AdminClient({**keys, "ssl.ca.location": certificates.ca}, logger=logging.getLogger("refused"))
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=1)
    assert "No rule of 'RULE:CN=nobody/x/' applies to CN=ann" in caplog.text


# ---------------------------------------------------------------------------------------------- SCRAM credentials


def test_scram_credentials_can_be_altered_and_described(cluster: EmbeddedCluster, certificates: Certificates) -> None:
    admin = AdminClient({
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": certificates.ca,
        **password_keys("PLAIN"),
    })  # fmt: skip
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192)
    upsert = UserScramCredentialUpsertion("carl", info, b"carl's own", b"salt for carl")

    admin.alter_user_scram_credentials([upsert])["carl"].result(60)
    described = described_as(admin, "carl").result(60)
    assert [(i.mechanism, i.iterations) for i in described.scram_credential_infos] == [(info.mechanism, 8192)]
    produce(cluster, certificates, b"by carl", **password_keys("SCRAM-SHA-512", "carl's own", "carl"))
    with KafkaShareConsumer(
        consumer_keys(cluster, certificates, password_keys("SCRAM-SHA-512", "carl's own", "carl"))
    ) as consumer:
        assert b"by carl" in values_of(consumer)
        consumer.commit_sync()

    everyone: Any = admin.describe_user_scram_credentials()
    assert {"ann", "bob", "carl"} <= set(everyone.result(60))
    deletion = UserScramCredentialDeletion("carl", ScramMechanism.SCRAM_SHA_512)
    admin.alter_user_scram_credentials([deletion])["carl"].result(60)
    with pytest.raises(KafkaException, match="does not exist"):
        admin.alter_user_scram_credentials([deletion])["carl"].result(60)
    with pytest.raises(KafkaException, match="does not exist"):
        described_as(admin, "carl").result(60)


def described_as(admin: AdminClient, user: str) -> Any:
    futures: Any = admin.describe_user_scram_credentials([user])
    return futures[user]


# -------------------------------------------------------------------------------------------------- the sessions


async def test_async_callback_and_renewed_authentication() -> None:
    """The client authenticates again before each session ends; `unit/net/test_session.py` says when."""
    tokens = 0

    async def token(_config: str) -> tuple[str, float]:
        nonlocal tokens
        tokens += 1
        expiry_s = SystemClock().wall_ms() / 1000 + 3
        return unsecured_token({"sub": "ann", "exp": expiry_s}), expiry_s

    async with EmbeddedCluster(security=BrokerSecurity(mechanisms=("OAUTHBEARER",))) as cluster:
        cluster.create_topic("t")
        consumer: AsyncKafkaShareConsumer[Any, Any] = AsyncKafkaShareConsumer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "group.id": "g",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "oauth_cb": token,
            }
        )
        async with consumer:
            await consumer.subscribe(["t"])
            while tokens < 3:
                await consumer.poll(0.5)


def test_security_with_tls_and_a_network_contradict_each_other(certificates: Certificates) -> None:
    security = BrokerSecurity(tls=ServerTls(certificate_location=certificates.server))
    with pytest.raises(ValueError, match="make the network with the TLS context"):
        EmbeddedCluster(network=TcpNetwork(), security=security)
    with pytest.raises(ConfigurationError, match="Unknown SASL mechanism 'GSSAPI'"):
        BrokerSecurity(mechanisms=("GSSAPI",))
    assert "pw" not in repr(BrokerSecurity(mechanisms=("PLAIN",), users={"ann": "pw"}))
