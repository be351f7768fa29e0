"""A process of the demo's application."""

from functools import partial

import click

from kafka_groups.cli.demo.streams.topology import build
from kafka_groups.streams import KafkaStreams

__all__ = ["main"]


@click.command()
@click.option("--bootstrap-servers", required=True)
@click.option("--application", required=True)
@click.option("--client-id", required=True)
def main(bootstrap_servers: str, application: str, client_id: str) -> None:
    """Run the application until SIGTERM."""
    KafkaStreams(
        partial(build, application),
        application_id=application,
        bootstrap_servers=bootstrap_servers,
        client_id=client_id,
        processing_guarantee="exactly_once_v2",
    ).run()


if __name__ == "__main__":
    main()
