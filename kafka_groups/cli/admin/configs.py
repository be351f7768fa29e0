"""`kafka-groups groups configs` and `streams configs`: the configurations of a group (KIP-848, KIP-932, KIP-1071)."""

from collections.abc import Iterable, Mapping

import click

from kafka_groups.admin import GroupConfigValue, Results
from kafka_groups.cli.admin.connecting import BrokerChoice, connected, connecting, report

__all__ = ["configs_command"]


def configs_command(prefix: str, what: str) -> click.Command:
    """Return the command.

    Args:
        prefix: How the keys begin that it shows and changes.
        what: What has these configurations, in words, before the name of the group.
    """

    @click.command("configs", help=_HELP.format(what=what))
    @click.argument("group")
    @click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="Set a configuration. Repeatable.")
    @click.option("--unset", multiple=True, metavar="KEY", help="Return to the brokers' value. Repeatable.")
    @connecting
    def configs(connection: BrokerChoice, group: str, given: tuple[str, ...], unset: tuple[str, ...]) -> None:
        changes = _changes(given, unset, prefix)
        with connected(connection) as admin:
            if changes:
                report(admin.alter_group_configs({group: changes}), lambda name, _none: f"{name}: changed")
                return
            values = admin.describe_group_configs([group])[group]
        report(Results(_beginning_with(prefix, values)), _shown)

    return configs


_HELP = """Print the configurations of {what} GROUP, or change some.

GROUP need not exist yet. The changes reach the brokers within moments.

The exit status is 1 if nothing was changed because a value is invalid.
"""


def _beginning_with(prefix: str, values: Mapping[str, GroupConfigValue]) -> dict[str, GroupConfigValue]:
    return {name: value for name, value in sorted(values.items()) if name.startswith(prefix)}


def _changes(given: Iterable[str], unset: Iterable[str], prefix: str) -> dict[str, str | None]:
    changes: dict[str, str | None] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not of the form KEY=VALUE.", param_hint="--set")
        changes[name.strip()] = value
    changes |= dict.fromkeys(unset)
    for name in changes:
        if not name.startswith(prefix):
            raise click.UsageError(
                f"{name!r} does not configure {prefix[:-1]} groups: use a key that begins with {prefix}"
            )
    return changes


def _shown(name: str, config: GroupConfigValue) -> str:
    return f"{name}={'' if config.value is None else config.value}{' (set for the group)' if config.is_set else ''}"
