"""Starts the `kafka-groups` command, or says what to install for it."""

import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("click", "msgspec", "rich")
_REMEDY = "Run pip install '.[cli]' in the checkout of kafka-groups, or install its wheel with [cli]."


def main() -> None:
    """Run the command."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        sys.exit(f"kafka-groups needs {' and '.join(missing)}. {_REMEDY}")
    from kafka_groups.cli.main import main as command  # noqa: PLC0415 - click may be missing

    command()
