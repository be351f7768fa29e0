"""`kafka-groups streams`: streams groups and topologies. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["streams"]

_COMMANDS = {
    "configs": (
        "kafka_groups.cli.admin.groups.group_configs",
        "streams_configs",
        "Print the configurations of the streams group GROUP, or change some.",
    ),
    "delete": (
        "kafka_groups.cli.admin.streams_groups.delete_streams_groups",
        "delete",
        "Delete streams groups that have no members, and their committed offsets.",
    ),
    "demo": (
        "kafka_groups.cli.demo.streams.streams_demo_command",
        "demo",
        "Sum the delays of 336,776 real flights, exactly once, while one process joins late and another is killed.",
    ),
    "describe": (
        "kafka_groups.cli.admin.streams_groups.describe_streams_groups",
        "describe",
        "Print the state, lag, topology and members of streams groups, or of applications with group.protocol=classic.",
    ),
    "list": (
        "kafka_groups.cli.admin.streams_groups.list_streams_groups",
        "list_groups",
        "Print each streams group and its state.",
    ),
    "offsets": (
        "kafka_groups.cli.admin.streams_groups.streams_offsets",
        "offsets",
        "Show, move and delete the committed offsets of a streams group.",
    ),
    "plan": (
        "kafka_groups.cli.admin.streams_groups.streams_plan",
        "plan",
        "Print what a task assignor would do to the running streams group GROUP.",
    ),
    "run": (
        "kafka_groups.cli.topologies.running",
        "run_application",
        "Run an application until Ctrl-C or SIGTERM, which let it commit and leave its group.",
    ),
    "state": (
        "kafka_groups.cli.state.state_command",
        "state",
        "Print what applications have on disk: the tasks, their stores, and the positions in changelogs.",
    ),
    "topology": (
        "kafka_groups.cli.topologies.drawing",
        "topology",
        "Print the topology that a function builds, as Kafka Streams describes it, or as a picture.",
    ),
    "try": (
        "kafka_groups.cli.topologies.trying",
        "try_topology",
        "Pipe the records of files through a topology in memory, and print those that it writes as lines of JSON.",
    ),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def streams() -> None:
    """List, describe, plan, configure and delete streams groups; move offsets; run and try topologies; show stores."""
