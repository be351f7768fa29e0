"""The command `topologies`: time per record in our driver against Java's, and what topologies cost besides."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from kafka_groups.cli.output import table
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.topologies import JUDGED, OTHERS, Compared, Extent, compared
from tests.benchmarks.topology_costs import chain_ratio, driver_ms, import_ms

_CHAINED = 100_000


@click.command()
@click.option("--topology", "names", type=click.Choice((*JUDGED, *OTHERS)), multiple=True, default=(*JUDGED, *OTHERS),
              help="May be given more than once. Default: all.")  # fmt: skip
@click.option("--records", type=click.IntRange(10), default=3_000, show_default=True, help="Records of a run.")
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True, help="Medians are of these.")
@click.option("--warm-up", "warm_up", type=click.IntRange(0), default=6, show_default=True,
              help="Rounds of all topologies before any counts.")  # fmt: skip
@click.option("--quick-start", "quick_start", is_flag=True,
              help="Java compiles once, without optimising, as the tests let it do.")  # fmt: skip
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def topologies(
    *, names: Sequence[str], records: int, rounds: int, warm_up: int, quick_start: bool, json_file: Path | None
) -> None:
    """Topologies in TopologyTestDriver: ours against Java's; a chain against a loop; making a driver; importing."""
    figures = {**_costs(rounds), **_compared(names, Extent(records, rounds, warm_up), quick_start=quick_start)}
    finish({"topologies": figures}, json_file)


def _costs(rounds: int) -> dict[str, float]:
    costs = {"chain": chain_ratio(_CHAINED, rounds), "driver_ms": driver_ms(rounds), "import_ms": import_ms(rounds)}
    say(f"chain of four functions: {costs['chain']:.2f} of a loop over them")
    say(f"a driver is made in {costs['driver_ms']:.2f} ms, the import takes {costs['import_ms']:.0f} ms")
    return costs


def _compared(names: Sequence[str], extent: Extent, *, quick_start: bool) -> dict[str, Any]:
    found = compared(names, extent, say, quick_start=quick_start)
    console().print(table("Microseconds for a record", ("topology", "ours", "Java", "ratio", "of a processor"),
                          [_row(each) for each in found]))  # fmt: skip
    ratios = {each.name: {"elapsed": each.ratio, "processor": each.processor_ratio} for each in found}
    judged = [each for each in found if each.name in JUDGED]
    if not judged:
        return {"ratios": ratios}
    median = statistics.median(each.ratio for each in judged)
    console().print(f"Median of {len(judged)} topologies: {median:.2f} of Java's time")
    return {"ratios": ratios, "median": median}


def _row(each: Compared) -> tuple[str, ...]:
    figures = (each.our_us, each.java_us, each.ratio, each.processor_ratio)
    return {**JUDGED, **OTHERS}[each.name], *(f"{figure:.2f}" for figure in figures)
