"""Builds the documentation's site as `.ci/run` does."""

import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

__all__ = ["built_site"]

_STAGE = re.compile(
    r'^ *stage "Documentation" \d+ "\$bin/mkdocs" (?P<arguments>.*) --site-dir "\$work/site"$', re.MULTILINE
)


def built_site(project: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a directory with an `mkdocs.yml` into a folder. Skips the test without mkdocs."""
    if find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: pip install -e '.[docs]'")
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", *_arguments(), "--site-dir", str(folder)],
        check=False,
        cwd=project,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
    )


def _arguments() -> list[str]:
    """The arguments of `.ci/run`, so that what tests prove holds for it."""
    found = _STAGE.search((ROOT / ".ci" / "run").read_text())
    assert found is not None, f"no line of .ci/run matches {_STAGE.pattern}"
    return shlex.split(found["arguments"])
