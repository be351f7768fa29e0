"""Decides which configs of a broker can change while it runs, and to which values, as Kafka does."""

import logging
from collections.abc import Mapping, Set
from functools import cache
from typing import Final

from kafka_groups.broker.configs.effective import ALL_BROKERS, DYNAMIC_BROKER_KEYS
from kafka_groups.broker.profile import Profile
from kafka_groups.config.cluster.broker import BrokerSettings, broker_keys, validate_broker_config
from kafka_groups.config.cluster.dynamic_broker_keys import (
    DYNAMIC_KEYS,
    ONE_BROKER_KEYS,
    PER_LISTENER_KEYS,
    STATIC_KEYS,
    TOPIC_KEY_OF,
)
from kafka_groups.config.cluster.dynamic_broker_values import check_dynamic_value
from kafka_groups.errors import InvalidConfigError, InvalidRequestError

__all__ = ["check_broker_changes"]

_LOG = logging.getLogger(__name__)
_MIN_ISR: Final = "min.insync.replicas"
_LISTENERS: Final = "listeners"


def check_broker_changes(
    settings: BrokerSettings, profile: Profile, broker: str, changes: Mapping[str, str | None]
) -> None:
    """Check changes to the configs of a broker.

    Args:
        settings: The settings that the brokers started with.
        profile: The release.
        broker: The broker's id, or `ALL_BROKERS`.
        changes: The new values; None for what is reset.

    Raises:
        InvalidRequestError: A config cannot change, or a value does not fit.
        InvalidConfigError: It is `min.insync.replicas`, for which the cluster has a value of its own.
    """
    missing = profile.missing_broker_keys.keys()
    given = {name: value for name, value in changes.items() if value is not None and name not in missing}
    _check_names(given.keys(), for_all=broker == ALL_BROKERS)
    for name, value in given.items():
        _check_value(settings, name, value)
    _check_min_isr(broker, changes)
    for name in given.keys() & DYNAMIC_KEYS.keys() - DYNAMIC_BROKER_KEYS - TOPIC_KEY_OF.keys():
        _tell_without_effect(name)


def _check_names(names: Set[str], *, for_all: bool) -> None:
    # As in Kafka, names that it does not know are kept, because plug-ins may use them.
    known = broker_keys().keys() | STATIC_KEYS
    _refuse("Cannot update these configs dynamically", names & known - DYNAMIC_KEYS.keys())
    text = "These security configs can be dynamically updated only per-listener using the listener prefix"
    _refuse(text, names & PER_LISTENER_KEYS)
    if for_all:
        text = "Cannot update these configs at default cluster level, broker id must be specified"
        _refuse(text, names & ONE_BROKER_KEYS)
    # Each broker here stands for one that is a controller, too, which would lose its listener.
    if _LISTENERS in names:
        raise InvalidRequestError(
            "requirement failed: controller.listener.names must contain at least one value appearing in the 'listeners'"
            " configuration when running the KRaft controller role"
        )


def _refuse(text: str, names: Set[str]) -> None:
    if names:
        raise InvalidRequestError(f"{text}: [{', '.join(sorted(names))}]")


def _check_value(settings: BrokerSettings, name: str, value: str) -> None:
    try:
        if name in DYNAMIC_KEYS:
            check_dynamic_value(name, value)
        if name in DYNAMIC_BROKER_KEYS:
            validate_broker_config(settings, name, value)
    except InvalidConfigError as error:
        raise InvalidRequestError(str(error)) from error


def _check_min_isr(broker: str, changes: Mapping[str, str | None]) -> None:
    # New clusters have eligible leader replicas (KIP-966), whose rules need one value for the whole cluster.
    if _MIN_ISR not in changes:
        return
    if broker != ALL_BROKERS:
        raise InvalidConfigError("Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
    if changes[_MIN_ISR] is None:
        raise InvalidConfigError("Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")


@cache
def _tell_without_effect(name: str) -> None:
    """Log once that a config changes nothing."""
    _LOG.warning("The config %s of a broker is kept and described. It has no effect on the embedded broker.", name)
