"""`kafka-groups offsets`: how far share groups are."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import click

from kafka_groups.admin import ShareOffset
from kafka_groups.cli.admin.connecting import BrokerChoice, connected, connecting, report
from kafka_groups.types import TopicPartition

__all__ = ["offsets"]


@click.group()
def offsets() -> None:
    """Show, reset and delete the offsets of a share group."""


@offsets.command()
@click.argument("group")
@connecting
def describe(connection: BrokerChoice, group: str) -> None:
    """Print the start offset and lag of GROUP in each partition.

    The exit status is 1 if a partition could not be described.
    """
    with connected(connection) as admin:
        found = admin.describe_share_group_offsets([group])[group]
    report(found, _described)


def _described(partition: TopicPartition, offset: ShareOffset) -> str:
    start, lag = ("unknown" if each is None else each for each in (offset.start_offset, offset.lag))
    return f"{partition} start={start} lag={lag}"


@offsets.command()
@click.argument("group")
@click.option(
    "--to", "place", required=True, metavar="PLACE", help="earliest, latest, or a time such as 2026-01-31T12:00Z."
)
@click.option(
    "--topic", "topics", multiple=True, help="Only this topic. Repeatable. Default: all that the group reads."
)
@connecting
def reset(connection: BrokerChoice, group: str, place: str, topics: tuple[str, ...]) -> None:
    """Move GROUP, which must have no members, to the beginning or end of topics, or to a time.

    The exit status is 1 if a partition was not reset.
    """
    to = _place(place)
    with connected(connection) as admin:
        done = admin.reset_share_group_offsets(group, to, topics or None)
    report(done, lambda partition, offset: f"{partition} start={offset}")


_PLACES: Mapping[str, Literal["earliest", "latest"]] = {"earliest": "earliest", "latest": "latest"}


def _place(text: str) -> Literal["earliest", "latest"] | datetime:
    if text in _PLACES:
        return _PLACES[text]
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not earliest, latest or a time.", param_hint="--to") from error
    if time.tzinfo is None:
        raise click.BadParameter(f"{text!r} has no time zone: add Z or an offset such as +01:00.", param_hint="--to")
    return time


@offsets.command()
@click.argument("group")
@click.option("--topic", "topics", multiple=True, required=True, help="The topic. Repeatable.")
@connecting
def delete(connection: BrokerChoice, group: str, topics: tuple[str, ...]) -> None:
    """Make GROUP, which must have no members, forget topics.

    The exit status is 1 if a topic was not forgotten.
    """
    with connected(connection) as admin:
        deleted = admin.delete_share_group_offsets(group, topics)
    report(deleted, lambda topic, _none: f"{topic}: deleted")
