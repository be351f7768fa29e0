"""SASL, TLS and authorization at a real Kafka: each way in, each way to fail, each refusal."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclOperation,
    AdminClient,
    ResourceType,
)

from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.config.cluster.groups import group_keys
from kafka_groups.errors import (
    AuthenticationError,
    GroupAuthorizationFailedError,
    IllegalSaslStateError,
    KafkaGroupsError,
    SaslAuthenticationFailedError,
    TlsError,
    TopicAuthorizationFailedError,
    UnsupportedSaslMechanismError,
    WrongProtocolError,
)
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafka_groups.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kafka_groups.protocol.sasl.oauthbearer import unsecured_token
from tests.support.certificates import DISTINGUISHED_NAME
from tests.support.kafka.real_kafka import RawConnection
from tests.support.kafka.secured_kafka import ODD_SECRET, PLAIN_SECRET, SECRET, SecuredKafka, running_secured_kafka

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(90)]

Keys = Mapping[str, Any]


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """The secured Kafka, one for all tests."""
    with running_secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
        yield kafka


def oauth_cb(config: str) -> tuple[str, float]:
    now_s = SystemClock().wall_ms() / 1000
    return unsecured_token({"sub": config, "iat": now_s, "exp": now_s + 600}), now_s + 600


def password(mechanism: str, secret: str, user: str = "ann") -> Keys:
    return {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": secret}


WAYS_IN: Mapping[str, tuple[str, Keys]] = {
    "plain": ("SASLTLS", password("PLAIN", PLAIN_SECRET)),
    "scram-256": ("SASLTLS", password("SCRAM-SHA-256", SECRET)),
    "scram-512": ("SASLTLS", password("SCRAM-SHA-512", SECRET)),
    "scram-odd": ("SASLTLS", password("SCRAM-SHA-256", ODD_SECRET, "odd")),
    "oauth": ("OAUTH", {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": oauth_cb, "sasl.oauthbearer.config": "ann"}),
    "mutual": ("MUTUAL", {}),
    "named": ("NAMED", {}),
}
USERS: Mapping[str, str] = {"scram-odd": "odd", "named": DISTINGUISHED_NAME}
"""The users where it is not ann."""


def way_in(kafka: SecuredKafka, way: str) -> dict[str, Any]:
    listener, keys = WAYS_IN[way]
    client = {"mutual": kafka.certificates.client, "named": kafka.certificates.named_client}.get(way)
    certificate = {} if client is None else {"ssl.certificate.location": client, "ssl.key.location": client}
    return kafka.keys(listener, {**certificate, **keys})


def consumer_at(kafka: SecuredKafka, way: str, group: str, **keywords: Any) -> KafkaShareConsumer[Any, Any]:
    return KafkaShareConsumer({**way_in(kafka, way), "group.id": group, "default.api.timeout.ms": 30_000, **keywords})


def polled(consumer: KafkaShareConsumer[Any, Any], until: Callable[[list[Any]], bool] = bool) -> list[Any]:
    found: list[Any] = []
    for _ in range(60):
        found += consumer.poll(0.5)
        if until(found):
            return found
    raise AssertionError(f"nothing but {found}")


def raised(consumer: KafkaShareConsumer[Any, Any], error: type[KafkaGroupsError]) -> KafkaGroupsError:
    """What polling ends with."""
    with pytest.raises(error) as caught:
        _poll_on(consumer)
    return caught.value


def _poll_on(consumer: KafkaShareConsumer[Any, Any]) -> None:
    for _ in range(60):
        consumer.poll(0.5)


@pytest.mark.parametrize("way", WAYS_IN)
def test_each_way_in(way: str, secured: SecuredKafka) -> None:
    user = USERS.get(way, "ann")
    topic, group = secured.create_topic(), secured.create_group()
    secured.allow(ResourceType.TOPIC, topic, AclOperation.READ, user)
    secured.allow(ResourceType.GROUP, group, AclOperation.READ, user)
    with consumer_at(secured, way, group) as consumer:
        consumer.subscribe([topic])
        assert [record.value for record in polled(consumer)] == [b"one"]
        assert list(consumer.commit_sync().values()) == [None]
    if way == "scram-odd":
        return  # librdkafka cannot log in with such a password
    theirs = AdminClient({**way_in(secured, way)})
    theirs.poll(0)  # where librdkafka asks for the token
    assert topic in theirs.list_topics(timeout=30).topics


def test_sessions_are_renewed_on_the_same_connections(secured: SecuredKafka, caplog: pytest.LogCaptureFixture) -> None:
    """The broker closes a connection whose session of 3 s is over; nobody sees any of that."""
    topic, group = secured.create_topic(), secured.create_group()
    secured.allow(ResourceType.TOPIC, topic, AclOperation.READ)
    secured.allow(ResourceType.GROUP, group, AclOperation.READ)
    caplog.set_level("DEBUG", "kafka_groups")
    with consumer_at(secured, "scram-512", group) as consumer:
        consumer.subscribe([topic])
        polled(consumer)
        while sum("Reauthenticated" in message for message in caplog.messages) < 4:
            consumer.poll(0.2)
        assert not [message for message in caplog.messages if "Lost the connection" in message]


WAYS_TO_FAIL: Mapping[str, tuple[str, Keys, type[KafkaGroupsError], str]] = {
    "plain": ("SASLTLS", password("PLAIN", "wrong"), SaslAuthenticationFailedError, "as ann with PLAIN"),
    "scram": ("SASLTLS", password("SCRAM-SHA-256", "wrong"), SaslAuthenticationFailedError, "as ann with SCRAM"),
    "user": ("SASLTLS", password("SCRAM-SHA-512", "x", "eve"), SaslAuthenticationFailedError, "as eve with SCRAM"),
    "token": (
        "OAUTH",
        {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _: ("rubbish", 4e9)},
        SaslAuthenticationFailedError,
        "OAUTHBEARER",
    ),
    "mechanism": (
        "OAUTH",
        password("SCRAM-SHA-256", SECRET),
        UnsupportedSaslMechanismError,
        r"does not support the SASL mechanism SCRAM-SHA-256\. .* one of: OAUTHBEARER",
    ),
    "no sasl here": (
        "PLAINTEXT",
        {**password("PLAIN", "x"), "security.protocol": "SASL_PLAINTEXT"},
        IllegalSaslStateError,
        "does not use SASL on this port",
    ),
    "sasl wanted": (
        "OAUTH",
        {"security.protocol": "PLAINTEXT"},
        WrongProtocolError,
        "probably requires SASL",
    ),
    "no certificate": ("MUTUAL", {}, TlsError, "client certificate"),
    "plain text at tls": (
        "SASLTLS",
        {**password("PLAIN", "x"), "security.protocol": "SASL_PLAINTEXT", "ssl.ca.location": None},
        WrongProtocolError,
        "TLS listener",
    ),
}


@pytest.mark.parametrize("way", WAYS_TO_FAIL)
def test_each_way_to_fail_says_what_failed(way: str, secured: SecuredKafka) -> None:
    listener, keys, error, text = WAYS_TO_FAIL[way]
    if listener == "PLAINTEXT":
        keys = {**keys, "bootstrap.servers": secured.process.bootstrap_servers}
        given: dict[str, Any] = dict(keys)
    else:
        given = secured.keys(listener, keys)
    with KafkaShareConsumer({**given, "group.id": "any", "default.api.timeout.ms": 15_000}) as consumer:
        consumer.subscribe(["any"])
        with pytest.raises(error, match=text) as caught:
            _poll_on(consumer)
        if isinstance(caught.value, AuthenticationError):
            with pytest.raises(error):
                consumer.poll(0)
    assert "wrong" not in str(caught.value)


def test_untrusted_broker(secured: SecuredKafka) -> None:
    keys = {**password("PLAIN", "x"), "ssl.ca.location": None, "ssl.ca.pem": secured.certificates.other_ca_pem}
    with KafkaShareConsumer({**secured.keys("SASLTLS", keys), "group.id": "any"}) as consumer:
        consumer.subscribe(["any"])
        assert "ssl.ca.location" in str(raised(consumer, TlsError))


# -------------------------------------------------------------------------------------------- SCRAM credentials


def refused_changes(address: tuple[str, int]) -> dict[str, list[tuple[str, ErrorCode]]]:
    """What a broker answers to changes of SCRAM credentials that it refuses, and to questions about nobody."""
    good: dict[str, Any] = {
        "name": "nobody",
        "mechanism": 1,
        "iterations": 4_096,
        "salt": b"0123456789ab",
        "salted_password": b"x" * 32,
    }
    bad: dict[str, dict[str, Any]] = {
        "no name": {"name": ""},
        "too few": {"iterations": 4_095},
        "too many": {"iterations": 16_385},
        "mechanism": {"mechanism": 7},
    }
    found: dict[str, list[tuple[str, ErrorCode]]] = {}
    with RawConnection(*address) as connection:
        for case, changes in bad.items():
            upsertion = ScramCredentialUpsertion(**(good | changes))
            answer = connection.ask(AlterUserScramCredentialsRequest(upsertions=(upsertion,)), 0)
            found[case] = [(result.user, result.error_code) for result in answer.results]
        deletion = ScramCredentialDeletion(name="nobody", mechanism=1)
        answer = connection.ask(AlterUserScramCredentialsRequest(deletions=(deletion,)), 0)
        found["delete"] = [(result.user, result.error_code) for result in answer.results]
        twice = tuple(ScramCredentialUpsertion(**good) for _ in range(2))
        answer = connection.ask(AlterUserScramCredentialsRequest(upsertions=twice), 0)
        found["twice"] = [(result.user, result.error_code) for result in answer.results]
        for case, names in {"unknown": ["nobody"], "named twice": ["nobody", "nobody"]}.items():
            users = tuple(UserName(name=name) for name in names)
            answer = connection.ask(DescribeUserScramCredentialsRequest(users=users), 0)
            found[case] = [(result.user, result.error_code) for result in answer.results]
    return found


def test_embedded_broker_refuses_the_same_credentials(secured: SecuredKafka) -> None:
    theirs = refused_changes((secured.process.host, secured.process.port))
    with EmbeddedCluster() as cluster:
        host, _, port = cluster.bootstrap_servers.partition(":")
        assert refused_changes((host, int(port))) == theirs


# ------------------------------------------------------------------------------------------------ authorization

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READ, DESCRIBE = AclOperation.READ, AclOperation.DESCRIBE


def test_no_access_to_the_group_at_the_coordinator(secured: SecuredKafka) -> None:
    topic, group = secured.create_topic(), secured.create_group()
    secured.allow(TOPIC, topic, READ)
    with consumer_at(secured, "scram-256", group) as consumer:
        consumer.subscribe([topic])
        assert group in str(raised(consumer, GroupAuthorizationFailedError))
        with pytest.raises(GroupAuthorizationFailedError):  # for good
            consumer.poll(0)


def test_no_access_to_the_group_at_the_heartbeat(secured: SecuredKafka) -> None:
    topic, group = secured.create_topic(), secured.create_group()
    secured.allow(TOPIC, topic, READ)
    secured.allow(GROUP, group, DESCRIBE)  # enough to find the coordinator
    with consumer_at(secured, "scram-256", group) as consumer:
        consumer.subscribe([topic])
        raised(consumer, GroupAuthorizationFailedError)


def test_no_access_to_the_topic_is_told_and_ends_when_it_is_granted(secured: SecuredKafka) -> None:
    topic, group = secured.create_topic(), secured.create_group()
    secured.allow(GROUP, group, READ)
    with consumer_at(secured, "scram-256", group) as consumer:
        consumer.subscribe([topic])
        assert topic in str(raised(consumer, TopicAuthorizationFailedError))
        secured.allow(TOPIC, topic, READ)
        assert [record.value for record in _patiently(consumer)] == [b"one"]


def test_topic_that_may_be_described_and_not_read_fails_at_the_fetch(secured: SecuredKafka) -> None:
    topic, group = secured.create_topic(), secured.create_group()
    secured.allow(GROUP, group, READ)
    secured.allow(TOPIC, topic, DESCRIBE)
    with consumer_at(secured, "scram-256", group) as consumer:
        consumer.subscribe([topic])
        assert topic in str(raised(consumer, TopicAuthorizationFailedError))


def test_access_withdrawn_before_the_acknowledgement(secured: SecuredKafka) -> None:
    topic, group = secured.create_topic(), secured.create_group()
    secured.allow(GROUP, group, READ)
    secured.allow(TOPIC, topic, READ)
    with consumer_at(secured, "scram-256", group, **{"prefetch.batches": 0}) as consumer:
        consumer.subscribe([topic])
        polled(consumer)
        secured.forbid(TOPIC, topic, READ)
        (result,) = consumer.commit_sync().values()
        assert isinstance(result, TopicAuthorizationFailedError)


def test_access_to_the_group_withdrawn_while_it_consumes(secured: SecuredKafka) -> None:
    topic, group = secured.create_topic(), secured.create_group()
    secured.allow(GROUP, group, READ)
    secured.allow(TOPIC, topic, READ)
    with consumer_at(secured, "scram-256", group) as consumer:
        consumer.subscribe([topic])
        polled(consumer)
        consumer.commit_sync()
        secured.forbid(GROUP, group, READ)
        raised(consumer, GroupAuthorizationFailedError)


def test_questions_about_a_group_without_access(secured: SecuredKafka) -> None:
    topic, group = secured.create_topic(), secured.create_group()
    with consumer_at(secured, "scram-256", group) as consumer:
        with pytest.raises(TopicAuthorizationFailedError):
            consumer.lag([topic])
        secured.allow(TOPIC, topic, DESCRIBE)
        with pytest.raises(GroupAuthorizationFailedError):
            consumer.lag([topic])
        with pytest.raises(GroupAuthorizationFailedError):
            consumer.group_config()
        secured.allow(GROUP, group, AclOperation.DESCRIBE_CONFIGS)
        assert consumer.group_config().keys() >= group_keys().keys() - {"share.assignment.interval.ms"}


def _patiently(consumer: KafkaShareConsumer[Any, Any]) -> list[Any]:
    deadline_ns = time.perf_counter_ns() + 30 * 10**9
    while time.perf_counter_ns() < deadline_ns:
        try:
            found = list(consumer.poll(0.5))
        except TopicAuthorizationFailedError:
            continue  # of before
        if found:
            return found
    raise AssertionError("nothing came after access was granted")
