"""What a share consumer is made of, put together once for both facades."""

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
    """The configuration out of what a constructor was given.

    Raises:
        ConfigurationError: A key is unknown or forbidden, or a value is bad.
    """
    return config_of(config, keywords, ShareConsumerConfig, share_consumer_config)


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
    assembly = Assembly(config, environment, errors)
    client = ShareClient(config, assembly, inbox)
    timeout_ms = config.request_timeout_ms
    group = ShareGroupInfo(config.group_id, lambda: AdminClient(assembly.another(), request_timeout_ms=timeout_ms))
    return Parts(config, clock, inbox, Application(config, inbox, errors, clock), client, group)
