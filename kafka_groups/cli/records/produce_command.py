"""`kafka-groups produce`: records from lines of a file or of standard input."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, connecting
from kafka_groups.cli.records.named_topics import checked_topic
from kafka_groups.errors.texts import counted
from kafka_groups.types import Header

__all__ = ["produce"]

_FAILED: Final = 1


@click.command()
@click.argument("topic")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--key-delimiter", metavar="TEXT", help=r"A line is a key, this text and a value. \t is a tab.")
@click.option(
    "--json-lines", is_flag=True, help='Lines such as {"key": "ann", "value": "hello"}, as consume --json prints them.'
)
@click.option("--key", metavar="TEXT", help="The key of all records. Default: keys are null.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="A header of all records. Repeatable.")
@click.option(
    "--partition", type=click.IntRange(0), metavar="N", help="The partition of all records. Default: the key decides."
)
@connecting
def produce(  # noqa: PLR0913 - the options of the command
    connection: BrokerChoice,
    topic: str,
    file: Path | None,
    *,
    key_delimiter: str | None,
    json_lines: bool,
    key: str | None,
    headers: Sequence[str],
    partition: int | None,
) -> None:
    """Write lines of FILE, or of standard input, to TOPIC: a record for each, whose value is the line.

    It ends with the input, when all in-sync replicas have all records. Nothing is read if the topic does not exist.

    With --json-lines, the fields key, value, timestamp_ms and headers are the record; topic, partition and offset may
    be there and are ignored.

    The exit status is 1 if a line is invalid or a record is refused. Standard error says which, and how many records
    were written.
    """
    if sum((key_delimiter is not None, json_lines, key is not None)) > 1:
        raise click.UsageError("Give one of --key-delimiter, --json-lines and --key.")
    from kafka_groups.cli.records.line_records import LineForm  # noqa: PLC0415 - help texts need no client
    from kafka_groups.cli.records.producing import produced_from  # noqa: PLC0415 - as above

    form = LineForm(
        topic=checked_topic(topic),
        key=None if key is None else os.fsencode(key),
        delimiter=None if key_delimiter is None else _delimiter(key_delimiter),
        is_json=json_lines,
        headers=tuple(map(_header, headers)),
        partition=partition,
    )
    count, problem = produced_from(file, form, connection)
    if problem is not None:
        click.echo(problem, err=True)
        sys.exit(_FAILED)
    click.echo(f"{topic}: {counted(count, 'record')} written", err=True)


def _delimiter(text: str) -> bytes:
    if not text:
        raise click.BadParameter("it is empty.", param_hint="--key-delimiter")
    return os.fsencode(text.replace("\\t", "\t"))


def _header(text: str) -> Header:
    name, equals, value = text.partition("=")
    if not (equals and name):
        raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE.", param_hint="--header")
    return name, os.fsencode(value)
