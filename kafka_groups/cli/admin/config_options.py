"""Print and change configurations of a topic, a broker or a group: options and answers that the commands share."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer
from kafka_groups.cli.documents.config_values import ChangedConfigEntry, ConfigValueEntry, ListedConfigEntry
from kafka_groups.cli.key_value import keys_and_values, refuse_repeated
from kafka_groups.cli.problems import CommandProblem
from kafka_groups.cli.text_tables import one_line

if TYPE_CHECKING:
    from kafka_groups.admin import ConfigResource, DescribedConfig, KafkaAdmin

__all__ = [
    "WantedConfigs",
    "change_configs",
    "config_entries",
    "config_options",
    "tell_configs",
    "value_entries",
]

F = TypeVar("F", bound=Callable[..., Any])
WantedConfigs = Mapping[str, str | None]

_RESETS: Final = "(reset)"


def config_options(command: F) -> F:
    """Add `--set` and `--unset` to a command, which gets `changes`: new values by key, and None to reset one."""

    @functools.wraps(command)
    def run(*, given: tuple[str, ...], unset: tuple[str, ...], **others: Any) -> Any:
        return command(changes=_changes(given, unset), **others)

    made = click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="Set a configuration. Repeatable.")
    reset = click.option(
        "--unset", multiple=True, metavar="KEY", help="Return to the value of the next level. Repeatable."
    )
    wrapped: Any = made(reset(run))
    result: F = wrapped
    return result


def _changes(given: Iterable[str], unset: Iterable[str]) -> WantedConfigs:
    """Return the changes that options say.

    Raises:
        click.BadParameter: A value is not of the form KEY=VALUE, or a key is given twice.
    """
    names = [name.strip() for name in unset]
    wanted = keys_and_values(given)
    refuse_repeated([*wanted, *names], "--unset")
    return {**wanted, **dict.fromkeys(names)}


# ----------------------------------------------------------------------------------------------------- printing


def value_entries(values: Mapping[str, "DescribedConfig"]) -> Sequence[ConfigValueEntry]:
    """Return configurations as entries, sorted by key."""
    return [ConfigValueEntry(*_fields(key, value)) for key, value in sorted(values.items())]


def config_entries(resource: "ConfigResource", values: Mapping[str, "DescribedConfig"]) -> Sequence[ListedConfigEntry]:
    """Return configurations of a resource as entries, sorted by key."""
    return [
        ListedConfigEntry(*_fields(key, value), resource.kind, resource.name) for key, value in sorted(values.items())
    ]


def _fields(key: str, value: "DescribedConfig") -> tuple[str, str | None, str, bool, bool, bool]:
    return key, value.value, value.source, value.is_set, value.is_read_only, value.is_sensitive


def tell_configs(answer: CommandAnswer[ListedConfigEntry], *, with_names: bool = False) -> None:
    """Print configurations, with the names of what has them if these are several."""
    answer.tell((_NAMED_CONFIGS if with_names else _CONFIGS).lines, lambda each: each.key)


def _row(entry: ConfigValueEntry) -> Sequence[str]:
    return entry.key, _shown(entry), entry.source


def _shown(entry: ConfigValueEntry) -> str:
    return "(hidden)" if entry.value is None and entry.sensitive else one_line(entry.value)


_CONFIGS: Final = AnswerTable[ListedConfigEntry](("KEY", "VALUE", "SOURCE"), _row)
_NAMED_CONFIGS: Final = AnswerTable[ListedConfigEntry](
    ("NAME", "KEY", "VALUE", "SOURCE"), lambda entry: (entry.name or "all brokers", *_row(entry))
)


# ----------------------------------------------------------------------------------------------------- changing


def change_configs(
    connection: BrokerChoice, form: AnswerForm, resource: "ConfigResource", changes: WantedConfigs, *, dry_run: bool
) -> None:
    """Change configurations, and print them. End the command with status 1 if that fails.

    Args:
        connection: The options that name the brokers.
        form: The form of the answer.
        resource: What has the configurations.
        changes: The new values; None resets a key.
        dry_run: Have the brokers check the changes, and make none.
    """
    answer = CommandAnswer[ChangedConfigEntry](form)
    with asking(connection, answer, str(resource)) as admin:
        unknown = _unknown(admin, resource, [key for key, value in changes.items() if value is None])
        for key in unknown:
            answer.fail(_unknown_key(resource, key))
        if not unknown:
            results = admin.alter_configs({resource: changes}, validate_only=dry_run)
            answer.take(results, None)
            answer.items += [
                ChangedConfigEntry(resource.kind, resource.name, *change)
                for change in changes.items()
                if not results.errors
            ]
    answer.tell(_CHANGES.lines)


def _unknown(admin: "KafkaAdmin", resource: "ConfigResource", keys: Sequence[str]) -> Sequence[str]:
    """Return the keys that the brokers do not have: they reset those that they do not know without an error."""
    if not keys:
        return ()
    known = admin.describe_configs([resource]).values.get(resource)  # none, if you may change keys and not see them
    return () if known is None else [key for key in keys if key not in known]


def _unknown_key(resource: "ConfigResource", key: str) -> CommandProblem:
    return CommandProblem(
        str(resource),
        f"Unknown configuration key {key!r} for a {resource.kind}.",
        "The command prints all keys if you leave --set and --unset out.",
    )


_CHANGES: Final = AnswerTable[ChangedConfigEntry](
    ("KEY", "VALUE"), lambda entry: (entry.key, _RESETS if entry.value is None else one_line(entry.value))
)
