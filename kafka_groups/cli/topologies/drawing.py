"""`kafka-groups streams topology`: a topology as text or picture."""

import click

from kafka_groups.cli.output import say
from kafka_groups.cli.topologies.loading import load_topology, topology_argument
from kafka_groups.errors import KafkaGroupsError

__all__ = ["topology"]


@click.command()
@topology_argument
@click.option("--mermaid", is_flag=True, help="As a Mermaid flowchart.")
@click.option("--dot", is_flag=True, help="In the language of Graphviz.")
@click.option("--svg", is_flag=True, help="As an SVG picture. Needs Graphviz.")
def topology(build: str, *, mermaid: bool, dot: bool, svg: bool) -> None:
    """Print the topology that a function builds, as Kafka Streams describes it, or as a picture.

    MODULE:FUNCTION names the function, such as app:build for the function build in app.py.
    """
    if mermaid + dot + svg > 1:
        raise click.UsageError("Give one of --mermaid, --dot and --svg.")
    built = load_topology(build)
    try:
        say(built.to_mermaid() if mermaid else built.to_dot() if dot else built.to_svg() if svg else built.describe())
    except KafkaGroupsError as error:
        raise click.ClickException(str(error)) from error
