"""Checks of what callers ask of configurations; each error names the value and what to give instead."""

from collections.abc import Iterable, Mapping

from kafka_groups.admin.rules.config_values import ConfigResource
from kafka_groups.admin.rules.group_configs import ConfigChanges
from kafka_groups.config.places import checked_name
from kafka_groups.errors import ConfigurationError

__all__ = ["checked_config_changes", "checked_resources"]


def checked_resources(resources: object) -> tuple[ConfigResource, ...]:
    """Return resources without repeats.

    Raises:
        ConfigurationError: Not a collection of resources, an empty one, or one with an invalid name.
    """
    if isinstance(resources, str | bytes) or not isinstance(resources, Iterable):
        raise ConfigurationError(f"resources={resources!r}: give a list, such as [ConfigResource('topic', 'orders')]")
    found = tuple(dict.fromkeys([_checked(each, "resources") for each in resources]))
    if not found:
        raise ConfigurationError("resources is empty: give at least one ConfigResource")
    return found


def _checked(resource: object, name: str) -> ConfigResource:
    if not isinstance(resource, ConfigResource):
        raise ConfigurationError(
            f"{name}: {resource!r} is not a ConfigResource: give one, such as ConfigResource('topic', 'orders')"
        )
    if resource.kind == "broker":
        _check_broker(resource.name, name)
    else:
        checked_name(resource.name, f"{name}: the name of a {resource.kind}")
    return resource


def _check_broker(name: object, parameter: str) -> None:
    if name != "" and not (isinstance(name, str) and name.isascii() and name.isdecimal()):
        raise ConfigurationError(
            f"{parameter}: {name!r} is not a broker: give its node id as text, such as '1', or '' for all brokers"
        )


def checked_config_changes(changes: object) -> dict[ConfigResource, ConfigChanges]:
    """Return changes of configurations by resource.

    Raises:
        ConfigurationError: Something else, or no change at all.
    """
    if not isinstance(changes, Mapping) or not changes:
        raise ConfigurationError(
            f"changes={changes!r}: give a dictionary of changes by resource, such as"
            " {ConfigResource('topic', 'orders'): {'retention.ms': '1000'}}"
        )
    return {_checked(resource, "changes"): _checked_values(resource, values) for resource, values in changes.items()}


def _checked_values(resource: object, values: object) -> ConfigChanges:
    if not isinstance(values, Mapping) or not values:
        raise ConfigurationError(f"changes of {resource}: {values!r} is not a dictionary of values by name")
    for name, value in values.items():
        checked_name(name, f"changes of {resource}")
        if value is not None and not isinstance(value, str):
            raise ConfigurationError(f"changes of {resource}: {name}={value!r} is not text: give {str(value)!r}")
    return values
