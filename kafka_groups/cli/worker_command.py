"""`kafka-groups worker`: a handler worker that runs until you stop it."""

import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafka_groups.cli.choices import AnyCase
from kafka_groups.cli.imports import imported_module, told
from kafka_groups.cli.output import console_for_people
from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.errors.log_tracebacks import cut_tracebacks

if TYPE_CHECKING:
    from rich.table import Table

    from kafka_groups.share.workers.running.checks.handler_checks import HandlerCheck
    from kafka_groups.share.workers.worker import Worker

__all__ = ["load_worker", "run_worker"]

_LOG = logging.getLogger("kafka_groups.worker")
cut_tracebacks(_LOG)
_LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_FAILED = 1


@click.command("worker")
@click.argument("worker", metavar="MODULE:NAME")
@click.option("--processes", type=click.IntRange(1), default=1, help="How many processes run handlers.")
@click.option(
    "--probe-address",
    metavar="HOST:PORT",
    help="Where to answer GET /live, /ready and /metrics, for Kubernetes and Prometheus, and for people / and /status."
    " :PORT is any address.",
)
@click.option(
    "--state-dir",
    metavar="DIR",
    help="A directory of this worker alone. If it is killed, its successor knows from it which records to run alone.",
)
@click.option(
    "--create-topics",
    is_flag=True,
    help="Create the topics for retries, dead letters and outputs that do not exist, before the worker runs.",
)
@click.option("--check", is_flag=True, help="Check the worker against its group and topics, and do not run it.")
@click.option(
    "--log-level",
    type=AnyCase(_LEVELS),
    default="INFO",
    help="The lowest level that is logged.",
)
def run_worker(  # noqa: PLR0913 - the options of the command
    worker: str,
    *,
    processes: int,
    probe_address: str | None,
    state_dir: str | None,
    create_topics: bool,
    check: bool,
    log_level: str,
) -> None:
    """Run a worker until Ctrl-C or SIGTERM, which let it finish what it holds.

    MODULE:NAME names the worker, such as shop:worker for the Worker called worker in shop.py.

    Standard error has the log.

    The exit status is 0 after a signal to stop, 1 if an error ended it or the check failed, 2 if the configuration is
    invalid, and 70 if an attempt hangs and the worker is one process.
    """
    from kafka_groups.share.workers.worker import has_handled  # noqa: PLC0415 - help texts need no worker

    if create_topics and check:
        raise click.UsageError("--check changes nothing: use --create-topics without it.")
    logging.basicConfig(stream=sys.stderr, level=log_level, format=_LOG_FORMAT)
    found = load_worker(worker)
    try:
        if check:
            sys.exit(0 if _is_passed(found) else _FAILED)
        if create_topics:
            found.create_topics()
        found.run(processes, probe_address, state_dir=state_dir)
    except ConfigurationError as error:
        if has_handled(found):
            raise click.ClickException(str(error)) from error  # of a handler, for example
        raise click.UsageError(str(error)) from error
    except KafkaGroupsError as error:
        raise click.ClickException(str(error)) from error
    except Exception as error:  # of a handler with OnError.STOP, of a lifespan, or of the module: one line says which
        _LOG.error("The worker was stopped by an error", exc_info=error)
        raise click.ClickException(f"The worker was stopped by an error: {told(error)}") from error


def load_worker(given: str) -> "Worker":
    """Import a worker.

    Raises:
        click.ClickException: There is none of that name.
    """
    from kafka_groups.share.workers.worker import Worker  # noqa: PLC0415 - as above

    module_name, colon, name = given.partition(":")
    if not (module_name and colon and name):
        raise click.BadParameter(f"{given!r} is not of the form MODULE:NAME, such as shop:worker.")
    module = imported_module(module_name)
    found = getattr(module, name, None)
    if isinstance(found, Worker):
        return found
    workers = sorted(name for name, value in vars(module).items() if isinstance(value, Worker))
    problem = f"has no worker {name!r}" if found is None else f"has {name!r}, which is not a Worker but {found!r}"
    raise click.ClickException(f"Module {module_name!r} {problem}. Its workers are: {', '.join(workers) or 'none'}.")


def _is_passed(worker: "Worker") -> bool:
    """Check a worker, and print the results."""
    _LOG.setLevel(logging.ERROR)  # the table has what would be logged
    results = worker.check()
    console_for_people().print(_table(results))
    return all(result.is_passed for result in results)


def _table(results: Sequence["HandlerCheck"]) -> "Table":
    from rich.markup import escape  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415 - as above

    made = Table("Handler", "Topics", "Result", show_lines=True)
    for result in results:
        lines = [f"error: {text}" for text in result.errors] + [f"warning: {text}" for text in result.warnings]
        made.add_row(escape(result.handler), escape("\n".join(result.topics)), escape("\n".join(lines) or "ok"))
    return made
