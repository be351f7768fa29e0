"""Modules of a user in the working directory, which commands import by name, as `python -m` does."""

import sys
from pathlib import Path

__all__ = ["import_from_here"]


def import_from_here() -> None:
    """Let Python find modules in the working directory, before those of the same name elsewhere."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
