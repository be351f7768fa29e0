"""`kafka-groups streams offsets`: how far the groups of streams applications are."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from kafka_groups.admin import KafkaAdmin, Results, StreamsGroupOffset
from kafka_groups.cli.admin.connection import BrokerChoice, connected, connecting, report
from kafka_groups.cli.admin.reset_options import ResetOptions, reset_options
from kafka_groups.cli.admin.topic_options import chosen_topics, topic_options, topic_partitions
from kafka_groups.cli.admin.topology_option import owned_topics, topology_option
from kafka_groups.cli.key_value import refuse_repeated
from kafka_groups.types import TopicPartition

if TYPE_CHECKING:
    from kafka_groups.streams import Topology

__all__ = ["alter", "delete", "list_offsets", "reset"]

Moved = Results[TopicPartition, int]

_NO_TOPICS = "has no input topics"


@click.command("list")
@click.argument("group")
@topology_option
@connecting
def list_offsets(connection: BrokerChoice, group: str, topology: "Topology | None") -> None:
    """Print the committed offset and lag of GROUP in each partition that it reads.

    The exit status is 1 if a partition could not be described.
    """
    with connected(connection) as admin:
        found = admin.describe_streams_group_offsets([group], topology=topology)[group]
    report(found, _described, nothing=f"{group}: {_NO_TOPICS}")


def _described(partition: TopicPartition, offset: StreamsGroupOffset) -> str:
    committed = "none" if offset.offset is None else offset.offset
    return f"{partition} offset={committed} end={offset.end_offset} lag={offset.lag}"


@click.command()
@click.argument("group")
@click.argument("given", metavar="TOPIC:PARTITION=OFFSET...", nargs=-1, required=True)
@topology_option
@connecting
def alter(connection: BrokerChoice, group: str, given: tuple[str, ...], topology: "Topology | None") -> None:
    """Set committed offsets of GROUP, which must have no members.

    The exit status is 1 if an offset was not set.
    """
    pairs = [_offset(text) for text in given]
    refuse_repeated([str(partition) for partition, _ in pairs], "TOPIC:PARTITION=OFFSET...")
    wanted = dict(pairs)
    with connected(connection) as admin:
        done = admin.alter_streams_group_offsets(group, wanted, topology=topology)
    report(done, lambda partition, _none: f"{partition} offset={wanted[partition]}")


def _offset(text: str) -> tuple[TopicPartition, int]:
    place, _, offset = text.rpartition("=")
    partitions = [each for each in topic_partitions(place) if isinstance(each, TopicPartition)]
    if len(partitions) != 1 or not offset.isdecimal():
        raise click.UsageError(f"{text!r} is not of the form TOPIC:PARTITION=OFFSET.")
    return partitions[0], int(offset)


@click.command()
@click.argument("group")
@reset_options
@topology_option
@connecting
def reset(connection: BrokerChoice, group: str, topology: "Topology | None", **given: Any) -> None:
    """Move the committed offsets of GROUP, which must have no members.

    Say where to with exactly one of the options --to-earliest to --from-file, which topics with --all-input-topics or
    --input-topic, and give --execute, or --dry-run to see what would be done.

    The stores and repartition topics of the application still have what it made of earlier records. Delete its internal
    topics with --delete-all-internal-topics or --delete-internal-topic, and remove the local state of its instances.

    The exit status is 1 if a partition was not moved, or a topic not deleted. No topic is deleted if a partition was
    not moved.
    """
    options = ResetOptions.read(given)
    with connected(connection) as admin:
        _check_internal_topics(admin, group, topology, options.internal_topics)
        moved = admin.reset_streams_group_offsets(
            group,
            options.to,
            options.topics,
            shift_by=options.shift_by,
            dry_run=options.is_dry_run,
            topology=topology,
        )
        if not moved.values and not moved.errors:
            raise click.ClickException(f"{group}: {_NO_TOPICS}")
        report(moved, _exported if options.exports else lambda partition, offset: f"{partition} offset={offset}")
        deleted = _without_topics(admin, group, topology, options)
    report(deleted, lambda name, _none: f"{name}: deleted")


def _check_internal_topics(admin: KafkaAdmin, group: str, topology: "Topology | None", names: Iterable[str]) -> None:
    """Find a wrong name before the group is moved."""
    known = owned_topics(admin, group, topology) if names else ()
    for name in names:
        if name not in known:
            raise click.ClickException(
                f"{name} is not an internal topic of {group}; those are {', '.join(known) or 'none'}"
            )


def _exported(partition: TopicPartition, offset: int) -> str:
    return f"{partition.topic},{partition.partition},{offset}"


def _without_topics(
    admin: KafkaAdmin, group: str, topology: "Topology | None", options: ResetOptions
) -> Results[str, None]:
    if options.deletes_all_internal_topics:
        return admin.delete_streams_group_internal_topics(group, topology=topology)
    if options.internal_topics:
        return admin.delete_streams_group_internal_topics(group, options.internal_topics, topology=topology)
    return Results()


@click.command()
@click.argument("group")
@topic_options
@topology_option
@connecting
def delete(
    connection: BrokerChoice,
    group: str,
    input_topics: tuple[str, ...],
    topology: "Topology | None",
    *,
    all_input_topics: bool,
) -> None:
    """Make GROUP forget its committed offsets of topics that it does not read at the moment.

    The exit status is 1 if an offset was not deleted.
    """
    topics = chosen_topics(input_topics, all_input_topics=all_input_topics)
    with connected(connection) as admin:
        deleted = admin.delete_streams_group_offsets(group, topics, topology=topology)
        if not deleted.values and not deleted.errors:
            raise click.ClickException(f"{group}: {_NO_TOPICS}")
    report(deleted, lambda partition, _none: f"{partition}: deleted")
