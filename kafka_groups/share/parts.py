"""The parts of a share consumer, which both facades use."""

from collections.abc import Callable, Mapping

from attrs import frozen

from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.calls.client import AdminClient
from kafka_groups.config.clients.connection import config_of
from kafka_groups.config.clients.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.net.clock import Clock
from kafka_groups.share.application import Application
from kafka_groups.share.client import ShareClient
from kafka_groups.share.delivery.inbox import Inbox
from kafka_groups.share.group import ShareGroupInfo

__all__ = [
    "Configuration",
    "Environment",
    "Parts",
    "configured",
    "put_together",
    "with_deserializers",
]


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
    """Make the configuration from the arguments of a constructor.

    Raises:
        ConfigurationError: A key is unknown or forbidden, or a value is bad.
    """
    return config_of(config, keywords, ShareConsumerConfig, share_consumer_config)


def with_deserializers(
    keywords: Mapping[str, object], key: Callable[..., object] | None, value: Callable[..., object] | None
) -> Mapping[str, object]:
    """Return the keywords with the two deserialisers, which constructors declare to give the records their types."""
    given = {"key_deserializer": key, "value_deserializer": value}
    return {**keywords, **{name: deserializer for name, deserializer in given.items() if deserializer is not None}}


def put_together(config: ShareConsumerConfig, environment: Environment) -> Parts:
    """Make all parts of a consumer. This opens no connection and starts no thread."""
    errors = BackgroundErrors()
    inbox = Inbox(errors.events)
    clock = environment.clock
    assembly = Assembly(config, environment, errors)
    client = ShareClient(config, assembly, inbox)
    timeout_ms = config.request_timeout_ms

    def connect(warning_level: int) -> AdminClient:
        return AdminClient(assembly.another(), request_timeout_ms=timeout_ms, warning_level=warning_level)

    group = ShareGroupInfo(config.group_id, connect)
    return Parts(config, clock, inbox, Application(config, inbox, errors, clock), client, group)
