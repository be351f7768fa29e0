"""The configuration keys that every client has: where the brokers are, how to reach them, TLS and SASL."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from attrs import frozen

from kafka_groups.config.clients import client
from kafka_groups.config.keys import Key
from kafka_groups.config.security import security
from kafka_groups.config.security.sasl import sasl_settings
from kafka_groups.config.settings import KeyTable, collected, raise_together, setting
from kafka_groups.errors import ConfigurationError, KafkaGroupsError

__all__ = ["ClientConfig", "client_keys", "config_of"]


@frozen(kw_only=True)
class ClientConfig:
    """The configuration that all clients have.

    Every attribute can be given by its own name or by Kafka's dotted one. Values are checked whichever way the
    object is built. The repr hides secrets.
    """

    whose: ClassVar[str] = "a client"
    """The owner of the configuration, as named in errors."""

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
        for check in self._checks():
            with collected(problems):
                check()
        raise_together(problems, self.whose)

    def _checks(self) -> Iterator[Callable[[], object]]:
        """Yield functions that raise an error if keys contradict each other."""
        yield lambda: client.check_backoff(client.RETRY_BACKOFF_MS, "retry_backoff_ms", self)
        yield lambda: client.check_backoff(client.RECONNECT_BACKOFF_MS, "reconnect_backoff_ms", self)
        yield lambda: security.check_tls(self)
        yield lambda: sasl_settings(self)


C = TypeVar("C", bound=ClientConfig)


def config_of(
    given: C | Mapping[str, object] | None, keywords: Mapping[str, object], kind: type[C], read: Callable[..., C]
) -> C:
    """Return the configuration out of what a constructor was given.

    Args:
        given: A finished configuration, keys by dotted names, or None.
        keywords: Keys by the attributes' names.
        kind: The class of the configuration.
        read: Reads and checks a mapping and keywords.

    Raises:
        ConfigurationError: There are keywords and a finished configuration; or what was given is neither a
            configuration nor a dictionary; or the errors of `read`.
    """
    if not isinstance(given, kind):
        if given is not None and not isinstance(given, Mapping):
            raise ConfigurationError(_not_a_configuration(given, kind))
        return read(given, **keywords)
    if keywords:
        raise ConfigurationError(f"{', '.join(keywords)}: give keywords or a finished {kind.__name__}, not both")
    return given


def _not_a_configuration(given: object, kind: type[ClientConfig]) -> str:
    remedy = f"Use bootstrap_servers={given!r} for the brokers, and keywords for the rest"
    if isinstance(given, ClientConfig):
        remedy = f"Use keywords, a dictionary or a {kind.__name__}"
    elif not isinstance(given, str | list | tuple):
        remedy = "Use keywords, or a dictionary such as {'bootstrap.servers': 'localhost:9092'}"
    return f"{given!r} is not a dictionary of configuration keys of {kind.whose}. {remedy}."


def client_keys() -> dict[str, Key]:
    """Return the keys that all clients have, by attribute name."""
    return dict(KeyTable(ClientConfig))
