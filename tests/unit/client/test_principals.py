from pathlib import Path
from typing import Any

from kafka_groups.client.principals import principal_of
from kafka_groups.config.clients.admin import admin_config
from tests.support.certificates import DISTINGUISHED_NAME, Certificates

SERVERS = {"bootstrap_servers": "localhost:9092"}


def principal(**given: Any) -> str | None:
    return principal_of(admin_config(SERVERS | given))


def test_a_client_without_credentials_is_anonymous() -> None:
    assert principal() == "User:ANONYMOUS"
    assert principal(security_protocol="SSL") == "User:ANONYMOUS"


def test_a_password_belongs_to_a_user() -> None:
    keys = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
    assert principal(**keys, sasl_username="ann", sasl_password="x") == "User:ann"
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="bob" password="x";'
    assert principal(**keys, sasl_jaas_config=jaas) == "User:bob"


def test_only_the_brokers_know_whom_a_token_names() -> None:
    keys = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
    assert principal(**keys, oauth_cb=lambda _: ("token", 0.0)) is None
    jaas = (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
        ' unsecuredLoginStringClaim_sub="ann";'
    )
    assert principal(**keys, sasl_jaas_config=jaas) == "User:ann"


def test_a_certificate_names_its_subject(tmp_path: Path) -> None:
    made = Certificates(tmp_path)
    keys = {"security_protocol": "SSL"}
    assert (
        principal(**keys, ssl_certificate_location=made.named_client, ssl_key_location=made.named_client)
        == f"User:{DISTINGUISHED_NAME}"
    )
    pem = {"ssl_certificate_pem": made.client_chain_pem, "ssl_key_pem": made.client_key_pem}
    assert str(principal(**keys, **pem)).startswith("User:CN=ann,")
