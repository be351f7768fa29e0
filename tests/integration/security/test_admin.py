"""The admin client authenticates as a consumer does, and says why it cannot."""

from collections.abc import Iterator
from typing import Final

import pytest

from kafka_groups import KafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.errors import SaslAuthenticationFailedError, TlsError
from kafka_groups.net.tls import ServerTls
from tests.support.certificates import Certificates

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
