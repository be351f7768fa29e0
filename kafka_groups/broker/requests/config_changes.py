"""Changes to the configs of topics, brokers, groups and subscriptions to client metrics: what is allowed."""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from attrs import evolve, frozen

from kafka_groups.broker.configs.broker_changes import check_broker_changes
from kafka_groups.broker.configs.effective import ALL_BROKERS, cluster_defaults
from kafka_groups.broker.metadata.topic_names import check_topic_name
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import message_of, message_unless_refused
from kafka_groups.broker.requests.leadership import topic_by_id_or_name
from kafka_groups.config.cluster.broker import broker_keys
from kafka_groups.config.cluster.client_metrics import client_metrics_config
from kafka_groups.config.cluster.dynamic_broker_keys import DYNAMIC_KEYS, TOPIC_KEY_OF
from kafka_groups.config.cluster.groups import check_group_config, group_keys
from kafka_groups.config.cluster.topic import topic_config, topic_keys
from kafka_groups.config.keys import Key
from kafka_groups.errors import BrokerError, InvalidRequestError
from kafka_groups.protocol.messages.config_resources import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)

__all__ = ["RESOURCE_KINDS", "ChangedConfigs", "ResourceKind", "check_changes", "current_values", "message_for"]

ChangedConfigs = Mapping[str, str | None]
"""New values by name; None for what is reset."""


@frozen
class ResourceKind:
    """Rules for resources of one type.

    Attributes:
        check_resource: Raises an error if the resource does not exist.
        keys: Returns its keys.
        check_values: Raises an error if values are not valid together.
        check_new: Raises an error if something may not change.
    """

    check_resource: Callable[[str, RequestContext], None]
    keys: Callable[[], Mapping[str, Key]]
    check_values: Callable[[RequestContext, Mapping[str, str]], None]
    check_new: Callable[[RequestContext, str, ChangedConfigs], None] = lambda context, name, changes: None


def message_for(error: BrokerError | None, resource_type: int) -> str | None:
    """Return the text of an error in a response; None without a text."""
    # In Kafka, brokers check the right for themselves without a text, and the controller the others with one
    # (ConfigAdminManager.preprocess and ControllerApis.handleIncrementalAlterConfigs).
    has_text = resource_type not in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE)
    return message_of(error) if has_text else message_unless_refused(error)


def current_values(resource_type: int, name: str, context: RequestContext) -> Mapping[str, str]:
    """Return what was set on a resource."""
    configs = context.services.cluster.metadata.configs
    if resource_type == BROKER_RESOURCE and name == ALL_BROKERS:
        return cluster_defaults(configs)
    return configs.overrides(resource_type, name)


def check_changes(resource_type: int, name: str, changes: ChangedConfigs, context: RequestContext) -> None:
    """Check changes to a resource that exists.

    Raises:
        BrokerError: INVALID_CONFIG or INVALID_REQUEST.
    """
    kind = RESOURCE_KINDS[resource_type]
    kind.check_new(context, name, changes)
    # Values are checked together with those that were set before, because some only fit others.
    merged = {**current_values(resource_type, name, context), **changes}
    kind.check_values(context, {name: value for name, value in merged.items() if value is not None})


# ------------------------------------------------------------------------------------- kinds of resources


def _check_topic(name: str, context: RequestContext) -> None:
    if not name:
        raise InvalidRequestError("Default topic resources are not allowed.")
    check_topic_name(name)
    topic_by_id_or_name(context.services.cluster.metadata, None, name)


def _check_topic_values(context: RequestContext, values: Mapping[str, str]) -> None:
    cluster = context.services.cluster
    cluster.profile.check_topic_keys(values)
    topic_config(cluster.settings, values)


def _check_group(name: str, _context: RequestContext) -> None:
    if not name:
        raise InvalidRequestError("The group name is empty.")


def _check_group_values(context: RequestContext, values: Mapping[str, str]) -> None:
    cluster = context.services.cluster
    cluster.profile.check_group_keys(values)
    check_group_config(cluster.settings, values)


def _check_client_metrics(name: str, _context: RequestContext) -> None:
    if not name:
        raise InvalidRequestError("Subscription name can't be empty")


def _no_list_operations() -> Mapping[str, Key]:
    return {}


def _check_client_metrics_values(_context: RequestContext, values: Mapping[str, str]) -> None:
    client_metrics_config(values)


def _check_broker(name: str, context: RequestContext) -> None:
    if name != ALL_BROKERS and name not in map(str, context.services.cluster.metadata.brokers):
        raise InvalidRequestError(f"Unexpected broker id, expected {context.services.node_id}, but received {name}")


@cache
def _keys_of_broker() -> Mapping[str, Key]:
    of_topics, own = topic_keys(), broker_keys()
    dynamic = {name: Key(name=name, type=key.type, default=(), doc="") for name, key in DYNAMIC_KEYS.items()}
    defaults = {name: evolve(of_topics[topic_key], name=name) for name, topic_key in TOPIC_KEY_OF.items()}
    return dynamic | defaults | own


def _ignore_values(_context: RequestContext, _values: Mapping[str, str]) -> None:
    """Do nothing: each change of a broker's config is checked by itself."""


def _check_new_of_broker(context: RequestContext, name: str, changes: ChangedConfigs) -> None:
    cluster = context.services.cluster
    check_broker_changes(cluster.settings, cluster.profile, name, changes)


RESOURCE_KINDS: Final[Mapping[int, ResourceKind]] = MappingProxyType(
    {
        TOPIC_RESOURCE: ResourceKind(_check_topic, topic_keys, _check_topic_values),
        GROUP_RESOURCE: ResourceKind(_check_group, group_keys, _check_group_values),
        CLIENT_METRICS_RESOURCE: ResourceKind(_check_client_metrics, _no_list_operations, _check_client_metrics_values),
        BROKER_RESOURCE: ResourceKind(_check_broker, _keys_of_broker, _ignore_values, _check_new_of_broker),
    }
)
"""The kinds by resource type."""
