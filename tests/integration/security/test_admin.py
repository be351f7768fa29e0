"""The admin client authenticates as a consumer does, and says why it cannot."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

import pytest

from kafka_groups import KafkaAdmin
from kafka_groups.admin import UserScramCredentialDeletion, UserScramCredentialUpsertion
from kafka_groups.admin.rules.user_values import ScramMechanism
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.errors import SaslAuthenticationFailedError, TlsError
from kafka_groups.net.tls import ServerTls
from kafka_groups.protocol.sasl.scram import MECHANISM_NUMBERS
from tests.support.certificates import Certificates
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.secured_kafka import running_secured_kafka

MECHANISM: Final = "SCRAM-SHA-256"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[EmbeddedCluster]:
    security = BrokerSecurity(
        mechanisms=(MECHANISM,), users={"ann": "right"}, tls=ServerTls(certificate_location=certificates.server)
    )
    settings = {"connection.failed.authentication.delay.ms": 1}
    with EmbeddedCluster(2, security=security, settings=settings) as running:
        yield running


def admin(cluster: EmbeddedCluster, ca: str, password: str) -> KafkaAdmin:
    return KafkaAdmin(
        bootstrap_servers=cluster.bootstrap_servers,
        security_protocol="SASL_SSL",
        sasl_mechanism=MECHANISM,
        sasl_username="ann",
        sasl_password=password,
        ssl_ca_location=ca,
    )


def test_the_right_password_is_let_in(cluster: EmbeddedCluster, certificates: Certificates) -> None:
    with admin(cluster, str(certificates.ca), "right") as client:
        assert client.list_share_groups().groups == ()
        name = "share.delivery.count.limit"
        assert client.describe_group_configs(["g"])["g"][name].value == "5"


def test_the_wrong_password_ends_the_client_at_once(cluster: EmbeddedCluster, certificates: Certificates) -> None:
    with admin(cluster, str(certificates.ca), "wrong") as client:
        for _ in range(2):
            with pytest.raises(SaslAuthenticationFailedError):
                client.describe_share_groups(["g"], timeout=30)


def test_a_certificate_that_is_not_trusted_is_an_error_at_once(
    cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Certificates(tmp_path_factory.mktemp("other"))
    with admin(cluster, str(other.ca), "right") as client, pytest.raises(TlsError):
        client.list_share_groups(timeout=30)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_password_that_was_set_is_let_in(mechanism: ScramMechanism) -> None:
    security = BrokerSecurity(mechanisms=("SCRAM-SHA-256", "SCRAM-SHA-512"), users={"root": "secret"})
    settings = {"connection.failed.authentication.delay.ms": 1}
    with (
        EmbeddedCluster(security=security, settings=settings) as cluster,
        authenticated(cluster.bootstrap_servers, mechanism, "root", "secret") as root,
    ):
        let_in_by_its_password(root, cluster.bootstrap_servers, mechanism)


@pytest.mark.real_kafka
@pytest.mark.long
def test_a_password_that_was_set_is_let_in_by_a_real_kafka(tmp_path: Path) -> None:
    with (
        running_secured_kafka(tmp_path) as kafka,
        KafkaAdmin(bootstrap_servers=kafka.process.bootstrap_servers) as root,
    ):
        for mechanism in MECHANISM_NUMBERS:
            keys = kafka.keys("SASLTLS", {})
            let_in_by_its_password(root, keys.pop("bootstrap.servers"), cast("ScramMechanism", mechanism), **keys)


def let_in_by_its_password(root: KafkaAdmin, servers: str, mechanism: ScramMechanism, **keys: object) -> None:
    """Set a password that SASLprep would change, and authenticate with it."""
    user, password = unique("user"), ' ①ﬁ\u00a0,="'
    (root.alter_users([UserScramCredentialUpsertion(user, mechanism, password, 5_000)])).checked()
    wait_until(lambda: user in root.describe_users([user]).values)
    with authenticated(servers, mechanism, user, password, **keys) as client:
        assert client.describe_cluster().brokers
    (root.alter_users([UserScramCredentialDeletion(user, mechanism)])).checked()
    wait_until(lambda: user in root.describe_users([user]).errors)
    with (
        authenticated(servers, mechanism, user, password, **keys) as client,
        pytest.raises(SaslAuthenticationFailedError),
    ):
        client.describe_cluster()


def authenticated(servers: str, mechanism: str, user: str, password: str, **keys: object) -> KafkaAdmin:
    """An admin client with a name and a password."""
    given = {
        "security.protocol": "SASL_PLAINTEXT",
        **keys,
        "bootstrap.servers": servers,
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }
    return KafkaAdmin(given)
