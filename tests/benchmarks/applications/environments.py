"""The environments of Quix Streams and Faust, apart from that of this project and made on first use."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from kafka_groups.testing.kafka_jars import cache_directory

__all__ = ["OTHERS", "interpreter"]

OTHERS: Mapping[str, str] = MappingProxyType({"quix": "quixstreams==3.28.1", "faust": "faust-streaming==0.15.3"})
"""The other clients and what is installed for each."""


def interpreter(client: str) -> Path:
    """Return the Python of another client. The first call installs it, with pip and from PyPI."""
    key = hashlib.sha256(f"{sys.version}\n{OTHERS[client]}".encode()).hexdigest()[:12]
    directory = cache_directory() / f"{client}-{key}"
    complete = directory / "complete"
    if not complete.exists():
        shutil.rmtree(directory, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(directory)])
        _run([str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet", OTHERS[client]])
        complete.touch()
    return directory / "bin" / "python"


def _run(command: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, env=environment)
