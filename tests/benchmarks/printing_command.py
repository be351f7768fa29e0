"""The command `printing`: how fast `kafka-groups share-consume` prints into a file, against a loop that only counts."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

import click

from kafka_groups.cli.output import table
from tests.benchmarks.aims import Aim
from tests.benchmarks.brokers import embedded
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.printing_program import COUNTING
from tests.benchmarks.topics import new_group, new_topic, produce

__all__ = ["printing"]

_AIMS: Final = {"values": 0.6, "format": 0.4, "json": 0.25}
_TIMEOUT_S: Final = 900
_VALUE: Final = (
    b'{"order": 123456, "customer": "ann", "lines": [{"product": "tea", "count": 2, "price": "4.50"}]}'.ljust(100)
)


@click.command()
@click.option("--records", type=click.IntRange(10), default=500_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Medians are of these.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def printing(*, records: int, rounds: int, json_file: Path | None) -> None:
    """Records of 100 bytes from the embedded broker into a file: values, a format and JSON, by turns with counting."""
    rates: dict[str, list[float]] = {form: [] for form in _AIMS}
    cpus: dict[str, list[float]] = {form: [] for form in _AIMS}
    with embedded() as broker:
        topic = new_topic(broker.bootstrap_servers)
        produce(broker.bootstrap_servers, topic, records, "large", value=_VALUE)
        for _ in range(rounds):
            seconds, cpu = _costs(COUNTING, broker.bootstrap_servers, topic, records)
            for form in _AIMS:
                own_seconds, own_cpu = _costs(form, broker.bootstrap_servers, topic, records)
                rates[form].append(seconds / own_seconds)
                cpus[form].append(cpu / own_cpu)
                say(f"{form}: {rates[form][-1]:.2f} of {1 / seconds:,.0f} records a second, CPU {cpus[form][-1]:.2f}")
    aims = [Aim(form, median(found), _AIMS[form], is_least=True) for form, found in rates.items()]
    # On a busy machine, CPU time says more: others take the time of the clock.
    aims += [Aim(f"{form}, by CPU time", median(found)) for form, found in cpus.items()]
    columns = ("share-consume", "of counting", "aim", "met")
    console().print(table("Records that are printed into a file", columns, [aim.row() for aim in aims]))
    finish({"printing": {aim.name: aim.figure for aim in aims}}, json_file)


def _costs(form: str, servers: str, topic: str, records: int) -> tuple[float, float]:
    """The seconds of a record, of the clock and of the CPU."""
    arguments = [form, servers, new_group(servers), topic, str(records)]
    with tempfile.TemporaryFile() as file:
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.printing_program", *arguments],
            stdout=file, stderr=subprocess.PIPE, text=True, check=True, timeout=_TIMEOUT_S,
        )  # fmt: skip
    figures = json.loads(done.stderr.splitlines()[-1])
    count = figures["records"]
    return figures["seconds"] / count, figures["cpu_seconds"] / count
