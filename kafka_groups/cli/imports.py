"""Import a module of the user that a command names, and say where its errors come from."""

import importlib
import traceback
from pathlib import Path
from types import ModuleType

import click

import kafka_groups
from kafka_groups.cli.working_directory import import_from_here
from kafka_groups.errors.causes import causes_of
from kafka_groups.errors.texts import named

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
        if error.name is not None and f"{name}.".startswith(error.name + "."):
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
    return f"{named(error)}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Return the last place outside of this package that led to an exception, as " (file:line)", or nothing.

    If it follows from others, the place is that of the first of them that has one.
    """
    for each in reversed(list(causes_of(error))):
        frames = traceback.extract_tb(each.__traceback__)
        outside = [frame for frame in frames if not frame.filename.startswith(_NOT_SHOWN)]
        if outside:
            return f" ({Path(outside[-1].filename).name}:{outside[-1].lineno})"
    return ""
