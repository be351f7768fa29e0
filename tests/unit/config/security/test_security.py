"""Keys of TLS and SASL: what goes together, what Java and confluent-kafka write, and that no secret is shown."""

from typing import Any

import pytest

from kafka_groups.config.clients.share import ShareConsumerConfig, share_consumer_config, share_consumer_keys
from kafka_groups.config.security.sasl import OidcSettings, Password, TokenCallback, UnsecuredToken, sasl_settings
from kafka_groups.errors import ConfigurationError

SECRET = "hunter2-hunter2"
PEM = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----"
NEEDED = {"bootstrap.servers": "b:1", "group.id": "g"}
SASL = {**NEEDED, "security.protocol": "SASL_SSL"}
JAAS = "org.apache.kafka.common.security."
PLAIN_JAAS = f'{JAAS}plain.PlainLoginModule required username="ann" password="{SECRET}";'


def config(given: dict[str, Any]) -> ShareConsumerConfig:
    return share_consumer_config(SASL | given)


def refused(given: dict[str, Any]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        share_consumer_config(SASL | given)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("mechanism", ["PLAIN", "scram-sha-256", "SCRAM-SHA-512"])
def test_user_and_password(mechanism: str) -> None:
    found = sasl_settings(config({"sasl.mechanisms": mechanism, "sasl.username": "ann", "sasl.password": SECRET}))
    assert found is not None
    assert found.mechanism == mechanism.upper()
    assert found.credentials == Password("ann", SECRET)
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLAIN_JAAS, ("ann", SECRET)),
        (f"{JAAS}plain.PlainLoginModule  REQUIRED\n username=ann\n password=pw ;\n", ("ann", "pw")),
        (JAAS + r'plain.PlainLoginModule required username="a\"b" password="c;\\d = e";', ('a"b', "c;\\d = e")),
    ],
)
def test_jaas_forms(text: str, expected: tuple[str, str]) -> None:
    found = sasl_settings(config({"sasl.mechanism": "PLAIN", "sasl.jaas.config": text}))
    assert found is not None
    assert found.credentials == Password(*expected)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"password={SECRET}", "not of the form"),
        (PLAIN_JAAS.rstrip(";"), "not of the form"),
        (PLAIN_JAAS.replace("Plain", "Kerberos"), "KerberosLoginModule is not supported"),
        (PLAIN_JAAS.replace('"ann"', '"ann'), "options cannot be read"),
        (PLAIN_JAAS.replace("username", "user"), "unknown option 'user' of PlainLoginModule"),
        (PLAIN_JAAS.replace("plain.Plain", "scram.Scram"), "does not fit sasl_mechanism 'PLAIN'"),
    ],
)
def test_bad_jaas_is_refused_without_showing_it(text: str, complaint: str) -> None:
    assert complaint in refused({"sasl.mechanism": "PLAIN", "sasl.jaas.config": text})


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "sasl_mechanism (sasl.mechanism) is missing"),
        ({"sasl.mechanism": "PLAIN"}, "sasl_username (sasl.username) is missing"),
        ({"sasl.mechanism": "PLAIN", "sasl.username": "ann"}, "sasl_password (sasl.password) is missing"),
        ({"sasl.mechanism": "GSSAPI"}, "PLAIN or SCRAM-SHA-256"),
        ({"security.protocol": "SSL", "sasl.password": SECRET}, "would not authenticate"),
        (
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN_JAAS, "sasl.password": "other"},
            "sasl_password (sasl.password) and the option password in sasl_jaas_config",
        ),
        ({"sasl.mechanism": "OAUTHBEARER"}, "OAUTHBEARER needs tokens: pass a function in oauth_cb"),
        ({"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"}, "token_endpoint_url"),
        ({"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://x"}, "client_id"),
        ({"sasl.oauthbearer.token.endpoint.url": "idp.example/token"}, "https://"),
        ({"sasl.oauthbearer.token.endpoint.url": f"https://me:{SECRET}@idp"}, "user name or password"),
        ({"sasl.oauthbearer.extensions": "a,b"}, "name=value"),
        ({"ssl.ca.pem": "/etc/ca.pem"}, "-----BEGIN"),
        ({"ssl.ca.pem": CERTIFICATE, "ssl.ca.location": "/ca"}, "are both set"),
        ({"ssl.key.pem": PEM}, "a client certificate needs its private key"),
        ({"ssl.key.pem": SECRET}, "Invalid value (hidden)"),
        ({"security.protocol": "SASL_PLAINTEXT", "ssl.key.pem": PEM}, "nothing would be encrypted"),
        ({"ssl.truststore.type": "JKS", "ssl.truststore.location": "/x.jks"}, "ssl.truststore.type"),
        ({"sasl.login.callback.handler.class": "com.example.Handler"}, "Java classes cannot be loaded"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], complaint: str) -> None:
    assert complaint in refused(given)


def test_identity_provider_under_the_names_of_java_and_of_confluent_kafka() -> None:
    confluent = {
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": SECRET,
        "sasl.oauthbearer.scope": "s",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1",
        "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token",
    }
    java = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": f"{JAAS}oauthbearer.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token",
        "sasl.jaas.config": f'{JAAS}oauthbearer.OAuthBearerLoginModule required clientId="me" clientSecret="{SECRET}" '
        'scope="s" extension_logicalCluster="lkc-1";',
    }
    expected = OidcSettings(
        token_endpoint_url="https://idp.example/token",
        client_id="me",
        client_secret=SECRET,
        scope="s",
        extensions=(("logicalCluster", "lkc-1"),),
    )
    for given in (confluent, java):
        found = sasl_settings(config(given))
        assert found is not None
        assert found.credentials == expected
        assert SECRET not in repr(found)


def test_other_sources_of_tokens() -> None:
    function = config({"sasl.mechanism": "OAUTHBEARER", "oauth_cb": print, "sasl.oauthbearer.config": "x"})
    jaas = f'{JAAS}oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="ann";'
    unsecured = config({"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": jaas})
    found = [sasl_settings(each) for each in (function, unsecured)]
    assert [each.credentials for each in found if each] == [TokenCallback(print, "x"), UnsecuredToken("ann")]


def test_every_secret_is_hidden_wherever_the_configuration_is_shown() -> None:
    """The keys of type PASSWORD are the secrets; their names are checked here, so that a new one is thought of."""
    secrets = {attribute for attribute, key in share_consumer_keys().items() if key.secret}
    assert secrets == {
        "sasl_jaas_config", "sasl_oauthbearer_client_secret", "sasl_password", "ssl_key_password", "ssl_key_pem",
    }  # fmt: skip
    made = config(
        {
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": PLAIN_JAAS,
            "sasl.username": "ann",
            "sasl.password": SECRET,
            "sasl.oauthbearer.client.secret": SECRET,
            "ssl.key.password": SECRET,
            "ssl.key.pem": PEM,
            "ssl.certificate.pem": CERTIFICATE,
        }
    )
    assert SECRET not in repr(made)
    assert SECRET not in str(made)
    for attribute in secrets:
        assert f"{attribute}='[hidden]'" in repr(made)
        assert share_consumer_keys()[attribute].format(getattr(made, attribute)) is None


@pytest.mark.parametrize("name", ["sasl.passwort", "sasl.jaas.configs", "ssl.keystore.password", "my.client.secret"])
def test_unknown_keys_with_the_names_of_secrets_are_not_shown(name: str) -> None:
    assert name in refused({name: SECRET, "sasl.mechanism": "PLAIN"})


def test_passwords_are_taken_as_they_are() -> None:
    made = config({"sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": "  a b  "})
    assert made.sasl_password == "  a b  "
