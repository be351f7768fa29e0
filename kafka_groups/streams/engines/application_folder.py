"""The folder of an application that keeps stores on disk: who may use it, and on which file systems."""

import hashlib
import importlib.util
import logging
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams.engines.machine import mount_of
from kafka_groups.streams.engines.marks import FORMAT, read_json, write_json

__all__ = ["check_installed", "check_mount", "claim", "fingerprint_of"]

_log = logging.getLogger(__name__)

_NAME: Final = "format.json"
_REMOTE: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p"})
"""File systems of other machines, on which neither locks nor mapped files can be relied on."""
_DOUBTFUL: Final = {
    "overlay": "it is lost with its container",
    "tmpfs": "it is lost when the machine stops, and takes memory",
    "fuse": "mapped files may not work there",
}


def check_installed(stores: Iterable[str]) -> None:
    """Check that stores can be kept on disk.

    Raises:
        ConfigurationError: The package lmdb is missing, or the platform lacks what is needed.
    """
    named = ", ".join(sorted(stores))
    if sys.platform == "win32":
        raise ConfigurationError(
            f"Stores on disk ({named}) need POSIX locks, which Windows lacks. Leave persistent=True and "
            "default_dsl_store out."
        )
    if importlib.util.find_spec("lmdb") is None:
        raise ConfigurationError(
            f"Stores on disk ({named}) need the package lmdb. Install it: pip install 'kafka-groups[streams]'"
        )


def fingerprint_of(topology: object) -> str:
    """Return a text that is another one if sub-topologies or topics change.

    Args:
        topology: What the members of the group send.
    """
    return hashlib.sha256(repr(topology).encode()).hexdigest()


def claim(folder: Path, application_id: str, fingerprint: str, *, may_change: bool = False) -> None:
    """Check that what is in a folder is of this application, or note that it is from now on. The caller has its lock.

    Args:
        folder: The folder.
        application_id: The application.
        fingerprint: That of its topology; see `fingerprint_of`.
        may_change: Whether its group takes another topology than before, as a classic group does.

    Raises:
        ConfigurationError: It belongs to another application, another topology that is not taken, or a newer release.
        OSError: It cannot be read or written.
    """
    found = read_json(folder / _NAME)
    mine = {"format": FORMAT, "application": application_id, "topology": fingerprint}
    if found is None:
        write_json(folder / _NAME, mine)
        return
    # Brokers do not keep the topology of a classic group.
    topology = " --topology MODULE:FUNCTION" if may_change else ""
    remedy = (
        "Use the release and the topology that wrote them, or reset the application: `kafka-groups streams offsets "
        f"reset {application_id}{topology} --to-earliest --all-input-topics --delete-all-internal-topics --execute`, "
        f"and `rm -r '{folder}'`."
    )
    if found.get("format") != FORMAT:
        raise ConfigurationError(
            f"The stores in {folder} have format {found.get('format')}, and this release has format {FORMAT}. {remedy}"
        )
    if found.get("application") != application_id:
        raise ConfigurationError(
            f"The stores in {folder} are of application {found.get('application')!r}, not of {application_id!r}. "
            f"{remedy}"
        )
    # The sub-topologies are numbered, so with others the folder of a task may be that of another one. A streams group
    # does not take a changed topology either.
    if found.get("topology") == fingerprint:
        return
    if not may_change:
        raise ConfigurationError(
            f"The stores in {folder} are of a topology of {application_id!r} with other sub-topologies or topics. "
            f"{remedy}"
        )
    _log.warning(
        "The topology of %r has other sub-topologies or topics than the one whose stores are in %s. Tasks whose stores "
        "have other changelogs now are emptied and restored.",
        application_id,
        folder,
    )
    write_json(folder / _NAME, mine)


def check_mount(folder: Path) -> None:
    """Refuse file systems of other machines, and warn about those that lose files.

    Raises:
        ConfigurationError: Stores cannot be kept there.
    """
    mount = mount_of(folder)
    if mount is None:
        return
    where = f"state.dir={str(folder.parent)!r} is on {mount.path}, a file system of type {mount.kind}"
    if mount.kind in _REMOTE:
        raise ConfigurationError(
            f"{where}. Stores on disk need a disk of this machine: give a state.dir on one, or in memory stores."
        )
    why = _DOUBTFUL.get(mount.kind.partition(".")[0])
    if why is None and folder.is_relative_to("/tmp"):  # noqa: S108 - the default, which systems empty
        why = "systems delete what is old there"
    if why is not None:
        _log.warning("%s: %s. The stores are restored from their changelogs then.", where, why)
