"""`kafka-groups topics`. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["topics"]

_COMMANDS = {
    "configs": (
        "kafka_groups.cli.admin.topics.topic_configs",
        "configs",
        "Print the configurations of TOPIC, or change some.",
    ),
    "create": ("kafka_groups.cli.admin.topics.create_topics", "create", "Create topics."),
    "delete": ("kafka_groups.cli.admin.topics.delete_topics", "delete", "Delete topics with all their records."),
    "delete-records": (
        "kafka_groups.cli.admin.topics.delete_topic_records",
        "delete_records",
        "Delete the oldest records of partitions: those before OFFSET, or all of them with `latest`.",
    ),
    "describe": (
        "kafka_groups.cli.admin.topics.describe_topics",
        "describe",
        "Print the partitions of topics, with leaders and replicas.",
    ),
    "grow": ("kafka_groups.cli.admin.topics.grow_topics", "grow", "Add partitions to topics."),
    "list": ("kafka_groups.cli.admin.topics.list_topics", "list_topics", "Print each topic that you may describe."),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def topics() -> None:
    """List, describe, create, grow and delete topics; show and change their configurations; delete records."""
