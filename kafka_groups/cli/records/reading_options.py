"""The options of the commands that print records: the brokers, how many records, how long, and in which form."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from attrs import frozen

from kafka_groups.cli.admin.connection import DEFAULT_TIMEOUT_S, BrokerChoice, broker_options
from kafka_groups.cli.records.record_forms import RecordForm, ValueLines, read_format

__all__ = ["ReadingOptions", "reading_options"]

F = TypeVar("F", bound=Callable[..., Any])

_SHORTEST_ASKING_S: Final = 10.0
"""The shortest time for brokers to answer before there are records."""

_OPTIONS = (
    click.option("-n", "most", type=click.IntRange(1), metavar="N", help="End after so many records."),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        help="End when no record has come for so many seconds. With -n, the exit status is 1 then.",
    ),
    click.option(
        "--format",
        "given_format",
        metavar="FORMAT",
        help="Print %t topic, %p partition, %o offset, %k key, %v value, %T time in ms, %h headers, %d delivery count"
        " (share-consume), %% and \\\\n and \\\\t. Default: values, one a line.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line."),
)


@frozen
class ReadingOptions:
    """The values of the options.

    Attributes:
        connection: How to reach the brokers.
        form: The form of records.
        most: The number of records after which the command ends; None: it ends in another way.
        timeout_s: The longest wait for a record, in seconds, or None.
    """

    connection: BrokerChoice
    form: RecordForm
    most: int | None
    timeout_s: float | None

    @property
    def runs_on(self) -> bool:
        """True if the command runs until somebody stops it."""
        return self.most is None


def reading_options(*, counts_deliveries: bool) -> Callable[[F], F]:
    """Return what adds the options to a command, which gets `ReadingOptions` for `reading`."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def run(
            *,
            bootstrap_servers: str | None,
            config: Path | None,
            most: int | None,
            timeout: float | None,
            given_format: str | None,
            as_json: bool,
            **given: Any,
        ) -> Any:
            form = _form(given_format, as_json=as_json, counts_deliveries=counts_deliveries)
            # It counts from the last record, and not while topics are looked up.
            asking_s = DEFAULT_TIMEOUT_S if timeout is None else max(timeout, _SHORTEST_ASKING_S)
            connection = BrokerChoice(bootstrap_servers, config, asking_s)
            return command(reading=ReadingOptions(connection, form, most, timeout), **given)

        made: Any = run
        for option in reversed(_OPTIONS):
            made = option(made)
        result: F = broker_options(made)
        return result

    return decorate


def _form(given_format: str | None, *, as_json: bool, counts_deliveries: bool) -> RecordForm:
    if given_format is not None and as_json:
        raise click.UsageError("Give either --format or --json.")
    if as_json:
        from kafka_groups.cli.records.json_form import JsonLines  # noqa: PLC0415 - msgspec takes a while to import

        return JsonLines(counts_deliveries=counts_deliveries)
    if given_format is None:
        return ValueLines()
    try:
        return read_format(given_format, counts_deliveries=counts_deliveries)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--format") from error
