"""What a share consumer is made of, put together once for both facades."""

import random
from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.brokers import Address, Brokers
from kafka_groups.config.sasl import sasl_settings
from kafka_groups.config.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.errors import ConfigurationError
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.net.login import login_with
from kafka_groups.net.network import Network
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.net.tls import TlsSettings, client_tls_context
from kafka_groups.share.application import Application
from kafka_groups.share.client import ShareClient
from kafka_groups.share.delivery.inbox import Inbox
from kafka_groups.share.group import ShareGroupInfo

__all__ = [
    "Configuration",
    "Environment",
    "Parts",
    "brokers_for",
    "configured",
    "network_for",
    "put_together",
    "with_deserializers",
]


@frozen
class Environment:
    """Where a consumer runs; tests and simulations give their own.

    Attributes:
        network: The way to the brokers; None for TCP, with TLS if the configuration says so.
        clock: Time.
        rng: Source of the member id and of jitter; None for one of its own.
    """

    network: Network | None = None
    clock: Clock = field(factory=SystemClock)
    rng: random.Random | None = None


@frozen(eq=False)
class Parts:
    """The parts of one consumer."""

    config: ShareConsumerConfig
    clock: Clock
    inbox: Inbox
    application: Application
    client: ShareClient
    group: ShareGroupInfo


Configuration = ShareConsumerConfig | Mapping[str, object] | None


def configured(config: Configuration, keywords: Mapping[str, object]) -> ShareConsumerConfig:
    """The configuration out of what a constructor was given.

    Raises:
        ConfigurationError: A key is unknown or forbidden, or a value is bad.
    """
    if not isinstance(config, ShareConsumerConfig):
        return share_consumer_config(config, **keywords)
    if keywords:
        raise ConfigurationError(f"{', '.join(keywords)}: give keywords or a finished ShareConsumerConfig, not both")
    return config


def with_deserializers(
    keywords: Mapping[str, object], key: Callable[..., object] | None, value: Callable[..., object] | None
) -> Mapping[str, object]:
    """The keywords of a constructor with the two that it declares, so that they give the records' types."""
    given = {"key_deserializer": key, "value_deserializer": value}
    return {**keywords, **{name: deserializer for name, deserializer in given.items() if deserializer is not None}}


def put_together(config: ShareConsumerConfig, environment: Environment) -> Parts:
    """All parts of a consumer; opens nothing and starts nothing."""
    errors = BackgroundErrors()
    inbox = Inbox(errors.events)
    clock = environment.clock
    network = environment.network or network_for(config)
    client = ShareClient(config, network, clock, environment.rng or random.Random(), inbox, errors)
    login = login_with(sasl_settings(config), clock)  # one for all questions, as it keeps the token
    group = ShareGroupInfo(
        config.group_id, lambda: Brokers(config.bootstrap_servers, network, clock, config.client_id, login), clock
    )
    return Parts(config, clock, inbox, Application(config, inbox, errors, clock), client, group)


def network_for(config: ShareConsumerConfig) -> TcpNetwork:
    """The way to the brokers over TCP, with TLS if the configuration says so."""
    if config.security_protocol not in ("SSL", "SASL_SSL"):
        return TcpNetwork()
    settings = TlsSettings(
        ca_location=config.ssl_ca_location,
        ca_pem=config.ssl_ca_pem,
        certificate_location=config.ssl_certificate_location,
        certificate_pem=config.ssl_certificate_pem,
        key_location=config.ssl_key_location,
        key_pem=config.ssl_key_pem,
        key_password=config.ssl_key_password,
        verify_hostname=config.ssl_endpoint_identification_algorithm == "https",
    )
    return TcpNetwork(client_tls=client_tls_context(settings))


def brokers_for(
    config: ShareConsumerConfig,
    bootstrap_servers: Sequence[Address] | None = None,
    *,
    network: Network | None = None,
    clock: Clock | None = None,
) -> Brokers:
    """Connections for single questions, which authenticate as the consumer does.

    Args:
        config: The consumer's configuration.
        bootstrap_servers: Brokers to ask; those of the configuration if not given.
        network: Another way to them, for tests.
        clock: Another clock, for tests.
    """
    clock = clock or SystemClock()
    servers = config.bootstrap_servers if bootstrap_servers is None else bootstrap_servers
    login = login_with(sasl_settings(config), clock)
    return Brokers(servers, network or network_for(config), clock, config.client_id, login)
