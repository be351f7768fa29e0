"""Import a module of the user that a command names, and say where its errors come from."""

import importlib
import traceback
from pathlib import Path
from types import ModuleType

import click

import kafka_groups
from kafka_groups.cli.working_directory import import_from_here

__all__ = ["imported_module", "place_of", "told"]

_NOT_SHOWN = (str(Path(kafka_groups.__file__).parent), "<frozen ")


def imported_module(name: str) -> ModuleType:
    """Import a module, which may be in the working directory, or anywhere where Python finds it.

    Raises:
        click.ClickException: There is no such module, or it cannot be imported.
    """
    import_from_here()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise click.ClickException(
                f"There is no module {error.name!r}, neither in {Path.cwd()} nor where Python looks for modules. "
                "Change to the directory that contains it, or set PYTHONPATH."
            ) from error
        raise _import_failed(name, error) from error
    except (Exception, SystemExit) as error:
        raise _import_failed(name, error) from error


def _import_failed(name: str, error: BaseException) -> click.ClickException:
    return click.ClickException(f"Module {name!r} cannot be imported: {told(error)}")


def told(error: BaseException) -> str:
    """Return an exception with its class and its place in the user's code."""
    return f"{type(error).__name__}: {error}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Return the last place outside of this package that led to an exception, as " (file:line)", or nothing.

    If it was raised because of another, the place is that of the first.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_NOT_SHOWN)]
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
