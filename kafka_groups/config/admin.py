"""The configuration of an admin client, given as keywords, by Kafka's dotted names, or both."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from kafka_groups.config import client, security
from kafka_groups.config.sasl import sasl_settings
from kafka_groups.config.settings import KeyTable, collected, raise_together, read_keys, setting
from kafka_groups.errors import ConfigurationError, KafkaGroupsError

__all__ = ["AdminConfig", "admin_config", "admin_keys"]


@frozen(kw_only=True)
class AdminConfig:
    """The configuration of an admin client; `admin_config` builds it.

    Every attribute can be given by its own name or by Kafka's dotted one. Values are checked whichever way the
    object is built. The repr hides secrets.
    """

    bootstrap_servers: tuple[tuple[str, int], ...] = setting(client.BOOTSTRAP_SERVERS)
    client_id: str = setting(client.CLIENT_ID)
    default_api_timeout_ms: int = setting(client.DEFAULT_API_TIMEOUT_MS)
    request_timeout_ms: int = setting(client.REQUEST_TIMEOUT_MS)
    retry_backoff_ms: int = setting(client.RETRY_BACKOFF_MS)
    retry_backoff_max_ms: int = setting(client.RETRY_BACKOFF_MAX_MS)
    reconnect_backoff_ms: int = setting(client.RECONNECT_BACKOFF_MS)
    reconnect_backoff_max_ms: int = setting(client.RECONNECT_BACKOFF_MAX_MS)
    socket_connection_setup_timeout_ms: int = setting(client.SOCKET_CONNECTION_SETUP_TIMEOUT_MS)
    security_protocol: str = setting(security.SECURITY_PROTOCOL)
    ssl_ca_location: str | None = setting(security.SSL_CA_LOCATION)
    ssl_ca_pem: str | None = setting(security.SSL_CA_PEM)
    ssl_certificate_location: str | None = setting(security.SSL_CERTIFICATE_LOCATION)
    ssl_certificate_pem: str | None = setting(security.SSL_CERTIFICATE_PEM)
    ssl_key_location: str | None = setting(security.SSL_KEY_LOCATION)
    ssl_key_pem: str | None = setting(security.SSL_KEY_PEM)
    ssl_key_password: str | None = setting(security.SSL_KEY_PASSWORD)
    ssl_endpoint_identification_algorithm: str = setting(security.SSL_ENDPOINT_IDENTIFICATION_ALGORITHM)
    sasl_mechanism: str | None = setting(security.SASL_MECHANISM)
    sasl_username: str | None = setting(security.SASL_USERNAME)
    sasl_password: str | None = setting(security.SASL_PASSWORD)
    sasl_jaas_config: str | None = setting(security.SASL_JAAS_CONFIG)
    oauth_cb: Callable[[str], Any] | None = setting(security.OAUTH_CB)
    sasl_oauthbearer_config: str = setting(security.SASL_OAUTHBEARER_CONFIG)
    sasl_oauthbearer_method: str = setting(security.SASL_OAUTHBEARER_METHOD)
    sasl_oauthbearer_client_id: str | None = setting(security.SASL_OAUTHBEARER_CLIENT_ID)
    sasl_oauthbearer_client_secret: str | None = setting(security.SASL_OAUTHBEARER_CLIENT_SECRET)
    sasl_oauthbearer_scope: str | None = setting(security.SASL_OAUTHBEARER_SCOPE)
    sasl_oauthbearer_extensions: tuple[tuple[str, str], ...] = setting(security.SASL_OAUTHBEARER_EXTENSIONS)
    sasl_oauthbearer_token_endpoint_url: str | None = setting(security.SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL)
    sasl_oauthbearer_header_urlencode: bool = setting(security.SASL_OAUTHBEARER_HEADER_URLENCODE)
    https_ca_location: str | None = setting(security.HTTPS_CA_LOCATION)

    def __attrs_post_init__(self) -> None:
        """Check the keys against each other."""
        problems: list[KafkaGroupsError] = []
        with collected(problems):
            client.check_backoff(client.RETRY_BACKOFF_MS, "retry_backoff_ms", self)
        with collected(problems):
            client.check_backoff(client.RECONNECT_BACKOFF_MS, "reconnect_backoff_ms", self)
        with collected(problems):
            security.check_tls(self)
        with collected(problems):
            sasl_settings(self)
        raise_together(problems, _WHOSE)


_TABLE = KeyTable(AdminConfig)
_WHOSE = "an admin client"


def admin_keys() -> dict[str, Any]:
    """The keys of an admin client by attribute name, in the order of the class."""
    return dict(_TABLE)


def admin_config(mapping: Mapping[str, object] | None = None, **keywords: object) -> AdminConfig:
    """Read and check the configuration of an admin client.

    Args:
        mapping: Keys by Kafka's dotted names, or confluent-kafka's where the two mean the same.
        **keywords: Keys by the attributes' names.

    Raises:
        ConfigurationError: A key is unknown, missing, given twice with different values or conflicts with another, or
            a value is invalid. The message names every such key, its value and what to do.
    """
    given = security.from_java([*(mapping or {}).items(), *keywords.items()])
    values = read_keys(_TABLE, given, _WHOSE, ConfigurationError)
    if "bootstrap_servers" not in values:
        key = client.BOOTSTRAP_SERVERS
        raise ConfigurationError(f"Missing configuration key bootstrap_servers ({key.name}): use {key.allowed}.")
    return AdminConfig(**values)
