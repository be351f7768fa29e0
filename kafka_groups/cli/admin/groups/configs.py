"""`kafka-groups groups configs` and `streams configs`: the configurations of a group (KIP-848, KIP-932, KIP-1071)."""

from collections.abc import Iterable, Mapping

import click

from kafka_groups.admin import GroupConfigValue, KafkaAdmin, Results
from kafka_groups.cli.admin.connection import BrokerChoice, connected, connecting, report
from kafka_groups.cli.key_value import keys_and_values, refuse_repeated

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
                if unset:
                    _check_known(admin, group, unset)
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
    names = [name.strip() for name in unset]
    wanted = keys_and_values(given)
    refuse_repeated([*wanted, *names], "--unset")
    changes: dict[str, str | None] = {**wanted, **dict.fromkeys(names)}
    for name in changes:
        if not name.startswith(prefix):
            raise click.UsageError(
                f"{name!r} does not configure {prefix[:-1]} groups: use a key that begins with {prefix}"
            )
    return changes


def _check_known(admin: KafkaAdmin, group: str, names: Iterable[str]) -> None:
    """Check that the brokers have these keys: they take back also those that they do not know.

    Raises:
        click.ClickException: They do not have one.
    """
    known = admin.describe_group_configs([group]).values.get(group)  # none, if you may change keys and not see them
    for name in names:
        if known is not None and name.strip() not in known:
            raise click.ClickException(
                f"Unknown configuration key {name.strip()!r} for a group. "
                "The command prints all keys if you leave --set and --unset out."
            )


def _shown(name: str, config: GroupConfigValue) -> str:
    return f"{name}={'' if config.value is None else config.value}{' (set for the group)' if config.is_set else ''}"
