"""The commands of `kafka-groups offsets`."""

from datetime import datetime
from typing import Any, Literal, TypeVar, cast

import click

from kafka_groups.admin import KafkaAdmin, Results, ShareOffset
from kafka_groups.cli.admin.connection import BrokerChoice, connected, connecting, report
from kafka_groups.cli.admin.reset_options import share_reset, share_reset_options
from kafka_groups.types import TopicPartition

__all__ = ["delete", "describe", "reset"]

V = TypeVar("V")

_NO_OFFSETS = "has no offsets: it has not read a topic, or all its offsets were deleted"


@click.command()
@click.argument("group")
@connecting
def describe(connection: BrokerChoice, group: str) -> None:
    """Print the start offset and lag of GROUP in each partition.

    The exit status is 1 if GROUP is not a share group, or a partition could not be described.
    """
    with connected(connection) as admin:
        found = admin.describe_share_group_offsets([group])[group]
        _check_existence(admin, group, found)
    report(found, _described, nothing=f"{group}: {_NO_OFFSETS}")


def _check_existence(admin: KafkaAdmin, group: str, found: Results[TopicPartition, V]) -> None:
    """Check that a group exists for which brokers name no partition, as they do for one that does not exist.

    Raises:
        GroupIdNotFoundError: It does not exist, or is not a share group.
    """
    if not found.values and not found.errors:
        _ = admin.describe_share_groups([group])[group]


def _described(partition: TopicPartition, offset: ShareOffset) -> str:
    start, lag = ("unknown" if each is None else each for each in (offset.start_offset, offset.lag))
    return f"{partition} start={start} lag={lag}"


@click.command()
@click.argument("group")
@share_reset_options
@connecting
def reset(connection: BrokerChoice, group: str, **given: Any) -> None:
    """Move GROUP, which must have no members, to the beginning or end of topics, or to a time.

    Say where to with exactly one of the options --to-earliest to --by-duration, which topics with --all-topics or
    --topic, and give --execute, or --dry-run to see what would be done.

    The exit status is 1 if a partition was not reset, or there is none.
    """
    options = share_reset(given)
    place = cast('Literal["earliest", "latest"] | datetime', options.to)
    with connected(connection) as admin:
        done = admin.reset_share_group_offsets(group, place, options.topics, dry_run=options.is_dry_run)
        _check_existence(admin, group, done)
    if not done.values and not done.errors:
        raise click.ClickException(f"{group}: {_NO_OFFSETS}. Name topics with --topic.")
    report(done, lambda partition, offset: f"{partition} start={offset}")


@click.command()
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
