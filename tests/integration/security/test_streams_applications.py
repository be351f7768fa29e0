"""Applications at brokers with TLS, SASL and rights: each way in, a wrong password, each right that may be missing."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourcePatternType, ResourceType

from kafka_groups.admin import KafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.errors import (
    GroupAuthorizationFailedError,
    KafkaGroupsError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
)
from kafka_groups.net.tls import ServerTls
from kafka_groups.streams import KafkaStreams, StreamsState
from kafka_groups.testing import FAST_SETTINGS
from kafka_groups.testing.simulation.checks.visible import visible_records
from tests.integration.test_exactly_once_applications import sums, wrong_results
from tests.support.certificates import Certificates
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, PARTITIONS, Guarantee
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.secured_kafka import PLAIN_SECRET, SECRET, SecuredKafka, running_secured_kafka
from tests.support.members.counted_application import CountedApplication, counted

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0
GUARANTEES: tuple[Guarantee, ...] = (AT_LEAST_ONCE, EXACTLY_ONCE)
GROUP, TOPIC, IDS = ResourceType.GROUP, ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
READ, WRITE, CREATE, DELETE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DELETE
PREFIXED, LITERAL = ResourcePatternType.PREFIXED, ResourcePatternType.LITERAL

Keys = Mapping[str, Any]
Right = tuple[ResourceType, str, AclOperation, ResourcePatternType]


def password(mechanism: str, secret: str) -> Keys:
    return {"sasl.mechanism": mechanism, "sasl.username": "ann", "sasl.password": secret}


def application(keys: Keys, names: tuple[str, str, str], guarantee: Guarantee) -> KafkaStreams:
    application_id, source, sink = names
    return KafkaStreams(
        partial(counted, source, sink),
        keys,
        application_id=application_id,
        processing_guarantee=guarantee,
        commit_interval_ms=100,
    )


def error_of(app: KafkaStreams) -> KafkaGroupsError:
    """What an application ends with."""
    with app:
        wait_until(lambda: app.state is StreamsState.ERROR, PATIENCE_S, lambda: app.state)
    assert isinstance(app.error, KafkaGroupsError)
    return app.error


# ---------------------------------------------------------------------------------------------- embedded broker


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[EmbeddedCluster]:
    mechanisms = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
    tls = ServerTls(certificate_location=certificates.server)
    settings = {**FAST_SETTINGS, "connection.failed.authentication.delay.ms": 1, "connections.max.reauth.ms": 2_000}
    security = BrokerSecurity(mechanisms=mechanisms, users={"ann": SECRET}, tls=tls)
    with EmbeddedCluster(security=security, settings=settings) as running:
        yield running
        assert running.unexpected_errors == ()


def committed(cluster: EmbeddedCluster, topic: str) -> list[int]:
    known = cluster.metadata.topic(topic)
    assert known is not None
    logs = [cluster.logs.get(known.topic_id, partition) for partition in range(PARTITIONS)]
    return sorted(int.from_bytes(record.value or b"", "big") for log in logs for record in visible_records(log))


def embedded_keys(cluster: EmbeddedCluster, certificates: Certificates, keys: Keys) -> Keys:
    secured = {"security.protocol": "SASL_SSL", "ssl.ca.location": certificates.ca}
    return {"bootstrap.servers": cluster.bootstrap_servers, **secured, **keys}


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_each_mechanism_and_sessions_that_are_renewed(
    cluster: EmbeddedCluster,
    certificates: Certificates,
    mechanism: str,
    guarantee: Guarantee,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Where the broker is faster, it ends the session of 2 s: then a request is sent again on another connection.
    names = unique("app"), unique("in"), unique("out")
    for topic in names[1:]:
        cluster.create_topic(topic, PARTITIONS)
    caplog.set_level("DEBUG", "kafka_groups")
    written = 0
    with application(embedded_keys(cluster, certificates, password(mechanism, SECRET)), names, guarantee) as app:
        while sum("Reauthenticated" in message for message in caplog.messages) < 8:
            cluster.produce(names[1], ["word"], keys=[f"line-{written}"], partition=written % PARTITIONS)
            written += 1
            wait_until(lambda: committed(cluster, names[2]) == [*range(1, written + 1)], PATIENCE_S)  # noqa: B023 - waits here
        assert app.state is StreamsState.RUNNING


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_wrong_password(cluster: EmbeddedCluster, certificates: Certificates, guarantee: Guarantee) -> None:
    names = unique("app"), unique("in"), unique("out")
    error = error_of(application(embedded_keys(cluster, certificates, password("PLAIN", "wrong")), names, guarantee))
    assert isinstance(error, SaslAuthenticationFailedError)
    assert "refused the login as ann with PLAIN" in str(error)
    assert "wrong" not in str(error)


# ------------------------------------------------------------------------------------------------- real Kafka


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with running_secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
        yield kafka


def rights(app: CountedApplication) -> dict[str, list[Right]]:
    """The rights that an application needs, by what they are for."""
    internal = [(TOPIC, app.application_id, operation, PREFIXED) for operation in (CREATE, READ, WRITE, DELETE)]
    return {
        "source": [(TOPIC, app.source, READ, LITERAL)],
        "sink": [(TOPIC, app.sink, WRITE, LITERAL)],
        "internal topics": internal,
        "group": [(GROUP, app.application_id, READ, LITERAL)],
        "transactional id": [(IDS, app.application_id, WRITE, PREFIXED)],
    }


def allow_all(kafka: SecuredKafka, app: CountedApplication, but: str = "") -> None:
    for purpose, needed in rights(app).items():
        for kind, name, operation, pattern in needed if purpose != but else ():
            kafka.allow(kind, name, operation, pattern=pattern)


def change(of: Callable[..., None], app: CountedApplication, purpose: str) -> None:
    """Give or take the rights for something."""
    for kind, name, operation, pattern in rights(app)[purpose]:
        of(kind, name, operation, pattern=pattern)


def secured_instance(
    kafka: SecuredKafka, app: CountedApplication, keys: Keys, listener: str = "SASLTLS"
) -> KafkaStreams:
    return application(kafka.keys(listener, keys), (app.application_id, app.source, app.sink), app.guarantee)


WAYS_IN: Mapping[str, Keys] = {
    "plain": password("PLAIN", PLAIN_SECRET),
    "scram-256": password("SCRAM-SHA-256", SECRET),
    "scram-512": password("SCRAM-SHA-512", SECRET),
}


def wait_for_results(app: CountedApplication, running: KafkaStreams) -> None:
    wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: (running.state, running.error))


@pytest.mark.real_kafka
@pytest.mark.timeout(300)
@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("way", WAYS_IN)
def test_each_way_in(
    secured: SecuredKafka, tmp_path: Any, way: str, guarantee: Guarantee, caplog: pytest.LogCaptureFixture
) -> None:
    app = CountedApplication(secured.process.bootstrap_servers, tmp_path, guarantee)
    allow_all(secured, app)
    caplog.set_level("DEBUG", "kafka_groups")
    app.write(20)
    with secured_instance(secured, app, WAYS_IN[way]) as running:
        with app.flow():
            app.wait_for_commit()
            if way == "scram-512":  # whose sessions last 3 s
                wait_until(lambda: sum("Reauthenticated" in message for message in caplog.messages) >= 8, PATIENCE_S)
        wait_for_results(app, running)
    assert wrong_results(app) == {}


@pytest.mark.real_kafka
@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_wrong_password_at_kafka(secured: SecuredKafka, tmp_path: Any, guarantee: Guarantee) -> None:
    app = CountedApplication(secured.process.bootstrap_servers, tmp_path, guarantee)
    error = error_of(secured_instance(secured, app, password("SCRAM-SHA-256", "wrong")))
    assert isinstance(error, SaslAuthenticationFailedError)
    assert "wrong" not in str(error)


MISSING: Mapping[str, tuple[type[KafkaGroupsError], tuple[str, ...]]] = {
    "source": (TopicAuthorizationFailedError, ("User:ann", "READ", "{source}")),
    "sink": (TopicAuthorizationFailedError, ("User:ann", "WRITE", "{sink}")),
    "internal topics": (TopicAuthorizationFailedError, ("User:ann", "CREATE", "{application_id}-")),
    "group": (GroupAuthorizationFailedError, ("User:ann", "READ", "{application_id}")),
    "transactional id": (TransactionalIdAuthorizationFailedError, ("User:ann", "WRITE", "{application_id}")),
}


@pytest.mark.real_kafka
@pytest.mark.timeout(200)
@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("purpose", MISSING)
def test_a_right_that_is_missing_and_given_later(
    secured: SecuredKafka, tmp_path: Any, purpose: str, guarantee: Guarantee
) -> None:
    if (purpose, guarantee) == ("transactional id", AT_LEAST_ONCE):
        pytest.skip("without transactions nobody needs it")
    app = CountedApplication(secured.process.bootstrap_servers, tmp_path, guarantee)
    allow_all(secured, app, but=purpose)
    app.write(20)
    check_refusal(error_of(secured_instance(secured, app, WAYS_IN["scram-256"])), app, purpose)
    change(secured.allow, app, purpose)
    with secured_instance(secured, app, WAYS_IN["scram-256"]) as running:
        wait_for_results(app, running)
        # The first instance may have written words to the repartition topic without committing their lines.
        wait_until(lambda: Counter(app.logged()) >= app.totals(), PATIENCE_S, app.logged)
    if guarantee == EXACTLY_ONCE:
        assert wrong_results(app) == {}


def check_refusal(error: KafkaGroupsError, app: CountedApplication, purpose: str) -> None:
    kind, texts = MISSING[purpose]
    names = {"source": app.source, "sink": app.sink, "application_id": app.application_id}
    assert isinstance(error, kind) or isinstance(error.__cause__, kind), repr(error)
    for text in texts:
        assert text.format(**names) in str(error)


@pytest.mark.real_kafka
@pytest.mark.timeout(200)
@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("purpose", ["source", "sink", "group", "transactional id"])
def test_a_right_that_is_taken_away_while_it_runs_and_given_back(
    secured: SecuredKafka, tmp_path: Any, purpose: str, guarantee: Guarantee
) -> None:
    if (purpose, guarantee) == ("transactional id", AT_LEAST_ONCE):
        pytest.skip("without transactions nobody needs it")
    app = CountedApplication(secured.process.bootstrap_servers, tmp_path, guarantee)
    allow_all(secured, app)
    with KafkaAdmin(bootstrap_servers=app.servers) as admin:  # a member that may not leave stays as long
        short = {"streams.session.timeout.ms": "3000", "streams.heartbeat.interval.ms": "500"}
        admin.alter_group_configs({app.application_id: short}).checked()
    app.write(20)
    with app.flow():
        with secured_instance(secured, app, WAYS_IN["scram-256"]) as running:
            wait_until(lambda: app.committed() > 0, PATIENCE_S)
            change(secured.forbid, app, purpose)
            wait_until(lambda: running.state is StreamsState.ERROR, PATIENCE_S, lambda: running.state)
        assert isinstance(running.error, KafkaGroupsError)
        check_refusal(running.error, app, purpose)
        change(secured.allow, app, purpose)
    with secured_instance(secured, app, WAYS_IN["scram-256"]) as again:
        wait_for_results(app, again)
        if guarantee == EXACTLY_ONCE:
            assert wrong_results(app) == {}
        wait_until(lambda: Counter(app.logged()) >= app.totals(), PATIENCE_S, app.logged)
