"""Starts the `kafka-groups` command, or says what to install for it."""

import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("click", "rich")


def main() -> None:
    """Run the command."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        sys.exit(f"kafka-groups needs {' and '.join(missing)}. Run: pip install 'kafka-groups[cli]'")
    from kafka_groups.cli.main import main as command  # noqa: PLC0415 - click may be missing

    command()
