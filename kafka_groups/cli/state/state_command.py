"""`kafka-groups streams state`: the stores that applications keep on disk."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kafka_groups.cli.output import console_for_people, say
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import sentences

if TYPE_CHECKING:
    from kafka_groups.streams.engines.inspection import KeptApplication

__all__ = ["state"]


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Read all rows, to find damage. It may take minutes for large stores.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def state(directory: Path, *, check: bool, as_json: bool) -> None:
    """Print what applications have on disk: the tasks, their stores, and the positions in changelogs.

    DIR is a state.dir, or the folder of one application in it. The applications may be running. Nothing is changed,
    except that LMDB lists the readers of open files in lock.mdb.

    The exit status is 1 if files are damaged or cannot be read, and 2 if DIR has no application.
    """
    from kafka_groups.streams.engines.inspection import inspected  # noqa: PLC0415 - help texts need no stores

    try:
        found = [inspected(each, check=check) for each in _folders(directory)]
    except ConfigurationError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{directory} cannot be read: {error}") from error
    _print(found, as_json=as_json)


def _folders(directory: Path) -> Sequence[Path]:
    from kafka_groups.streams.engines.inspection import application_folders  # noqa: PLC0415 - as above

    folders = application_folders(directory)
    if not folders:
        raise click.BadParameter(
            f"'{directory}' is not a state.dir: it has no folder of an application, such as app-shop. Give the "
            "state.dir of an application, or a folder app-… in it.",
            param_hint="'DIR'",
        )
    return folders


def _print(found: Sequence["KeptApplication"], *, as_json: bool) -> None:
    from kafka_groups.cli.state.state_documents import state_document  # noqa: PLC0415 - as above
    from kafka_groups.cli.state.state_problems import state_problems  # noqa: PLC0415 - as above
    from kafka_groups.cli.state.state_tables import print_state  # noqa: PLC0415 - as above

    if as_json:
        say(json.dumps(state_document(found), indent=2, ensure_ascii=False))
    else:
        print_state(console_for_people(), found)
    problems = list(state_problems(found))
    for problem in problems:
        click.echo(f"Error: {sentences(problem.message, problem.remedy or '')}", err=True)
    if problems:
        sys.exit(1)
