"""Where figures go: tables to standard output, what has been measured so far to standard error, all of it to a file."""

import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import confluent_kafka
from rich.console import Console


def finish(measured: Mapping[str, Any], json_file: Path | None) -> None:
    """Write the figures and what they were taken on."""
    if json_file is not None:
        surroundings = {
            "python": platform.python_version(),
            "confluent_kafka": confluent_kafka.__version__,
            "cpus": os.cpu_count(),
            "load_average": os.getloadavg(),
        }
        json_file.write_text(json.dumps({"surroundings": surroundings, **measured}, indent=2) + "\n")


def say(line: str) -> None:
    """What has just been measured."""
    click.echo(line, err=True)


def console() -> Console:
    """For the tables."""
    return Console(width=None if Console().is_terminal else 140, highlight=False)
