"""`kafka-groups streams`: streams groups and topologies. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["streams"]

_COMMANDS = {
    "configs": ("kafka_groups.cli.admin.streams", "configs"),
    "delete": ("kafka_groups.cli.admin.streams", "delete"),
    "demo": ("kafka_groups.cli.demo.streams.streams_demo_command", "demo"),
    "describe": ("kafka_groups.cli.admin.streams", "describe"),
    "list": ("kafka_groups.cli.admin.streams", "list_groups"),
    "offsets": ("kafka_groups.cli.admin.streams_offsets", "offsets"),
    "plan": ("kafka_groups.cli.admin.streams_plan", "plan"),
    "run": ("kafka_groups.cli.topologies.running", "run_application"),
    "state": ("kafka_groups.cli.state.state_command", "state"),
    "topology": ("kafka_groups.cli.topologies.drawing", "topology"),
    "try": ("kafka_groups.cli.topologies.trying", "try_topology"),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def streams() -> None:
    """List, describe, plan, configure and delete streams groups; move offsets; run and try topologies; show stores."""
