"""The archive of loaded classes with which a JVM starts Kafka in half of the processor time (class data sharing)."""

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from kafka_groups.testing.kafka_jars import locked

__all__ = ["archive_options", "make_archive"]

_log = logging.getLogger(__name__)


def archive_options(jars: Path, java: str) -> tuple[str, ...]:
    """Return the options with which a JVM uses the archive of these jars; none if there is no archive yet."""
    archive = _archive(jars, java)
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off") if archive.exists() else ()


def make_archive(jars: Path, java: str, run: Callable[[tuple[str, ...]], bool]) -> None:
    """Make the archive of these jars if there is none. Blocks for some seconds; processes wait for each other.

    Args:
        jars: The directory with the jars. The archive is kept there, and goes with them.
        java: The JVM. Each has an archive of its own, as one cannot read that of another.
        run: Starts Kafka with more options and stops it. Returns whether the JVM ended by itself.
    """
    archive = _archive(jars, java)
    if archive.exists() or not os.access(jars, os.W_OK):  # a cache that others have filled may be read-only
        return
    with locked(archive.with_suffix(".lock")):
        if archive.exists():
            return
        with tempfile.TemporaryDirectory(dir=jars, prefix=".archive-") as directory:
            made = Path(directory) / archive.name
            if run((f"-XX:ArchiveClassesAtExit={made}",)) and made.exists():
                made.rename(archive)
            else:
                _log.warning("%s did not write %s. Kafka works without it, and starts more slowly", java, archive)


def _archive(jars: Path, java: str) -> Path:
    program = Path(java).resolve()
    identity = f"{program} {program.stat().st_mtime_ns}"
    return jars / f"classes-{hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()}.jsa"
