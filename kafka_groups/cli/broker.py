"""`kafka-groups broker`: an embedded cluster that runs until you stop it."""

from typing import Any, Final

import click

from kafka_groups.cli.broker_options import first_topics_options, rights_options, security_options

__all__ = ["broker"]

_HIGHEST_PORT: Final = 65_535
_RELEASES: Final = ("4.2", "4.3", "4.4")


@click.command()
@click.option(
    "--port", type=click.IntRange(0, _HIGHEST_PORT), default=0, help="Port of the first broker; 0 picks free ports."
)
@click.option(
    "--brokers", type=click.IntRange(1, 100), default=1, help="Number of brokers. Their ports are consecutive."
)
@click.option(
    "--set", "given", multiple=True, metavar="KEY=VALUE", help="Broker setting, by its Kafka name. Can be repeated."
)
@click.option(
    "--profile",
    type=click.Choice(_RELEASES),
    default=_RELEASES[-1],
    show_default=True,
    help="Release of Kafka that the brokers act as.",
)
@first_topics_options
@rights_options
@security_options
@click.option("--until-stdin-closes", is_flag=True, help="Exit when standard input closes, for use as a child process.")
def broker(port: int, brokers: int, **others: Any) -> None:
    """Run an embedded Kafka cluster on loopback until Ctrl-C. Data is kept in memory and lost on exit."""
    if port and port + brokers - 1 > _HIGHEST_PORT:
        raise click.BadParameter(
            f"the brokers need ports {port} to {port + brokers - 1}, and {_HIGHEST_PORT} is the highest port.",
            param_hint="--port",
        )
    from kafka_groups.cli.broker_running import run_cluster  # noqa: PLC0415 - help texts need no broker

    run_cluster(port, brokers, **others)
