"""`kafka-groups streams try`: records of files go through a topology, and its results come out as lines of JSON."""

import click

from kafka_groups.cli.topologies.loading import topology_argument

__all__ = ["try_topology"]


@click.command("try")
@topology_argument
@click.option(
    "--input",
    "inputs",
    multiple=True,
    required=True,
    metavar="TOPIC=FILE",
    help="The records of a topic: CSV if the name ends with .csv, and otherwise lines of JSON. Repeatable. "
    "Write CSV of a pipe, a .tsv or a .csv.gz to a .csv first.",
)
@click.option(
    "--time",
    "times",
    multiple=True,
    metavar="[TOPIC=]COLUMN",
    help="The column of CSV with the times, in ms or ISO 8601. A number is the time of all rows. Repeatable.",
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="[TOPIC=]COLUMN",
    help="The column of CSV with the keys. Default: keys are null. Repeatable.",
)
@click.option(
    "--value",
    "values",
    multiple=True,
    metavar="[TOPIC=]COLUMN",
    help="The column of CSV with the values. Default: values are objects of all columns. Repeatable.",
)
@click.option("--null", metavar="TEXT", help="Cells of CSV with this text are null. Default: empty ones.")
@click.option(
    "--keep-order",
    is_flag=True,
    help="Keep the order of each file, so that records may be late. Default: files are sorted by time.",
)
def try_topology(  # noqa: PLR0913 - the options of the command
    build: str,
    *,
    inputs: tuple[str, ...],
    times: tuple[str, ...],
    keys: tuple[str, ...],
    values: tuple[str, ...],
    null: str | None,
    keep_order: bool,
) -> None:
    """Pipe the records of files through a topology in memory, and print those that it writes as lines of JSON.

    MODULE:FUNCTION names the function that builds the topology, such as app:build for the function build in app.py.

    An input has lines such as {"key": "ann", "value": "to be", "timestamp_ms": 1700000000000}, or is CSV with a row of
    column names. Keys and values are the JSON of what the source's serdes take. Records are piped in the order of
    their times; if times are equal, in the order of the options. Output has the same form, and the topic.

    The exit status is 1 if a line is refused or the topology fails, and 2 if an option is invalid.
    """
    from kafka_groups.cli.topologies.input_options import InputOptions  # noqa: PLC0415 - help texts need no topology
    from kafka_groups.cli.topologies.topology_trial import run_trial  # noqa: PLC0415 - as above

    columns = {"--time": times, "--key": keys, "--value": values}
    run_trial(build, InputOptions.read(inputs, columns, null), keep_order=keep_order)
