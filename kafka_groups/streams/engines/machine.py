"""Facts of the machine that matter for state on disk: when it was booted, and the file system of a folder."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

from attrs import frozen

__all__ = ["Mount", "boot_id", "mount_of"]

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_MOUNTS: Final = Path("/proc/self/mountinfo")
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


@cache
def boot_id() -> str:
    """Return a text that is another one after the machine was booted again.

    Raises:
        OSError: It cannot be found out.
    """
    if sys.platform == "darwin":
        found = subprocess.run(["/usr/sbin/sysctl", "-n", "kern.boottime"], capture_output=True, text=True, check=True)
        return found.stdout.strip()
    return _BOOT_ID.read_text(encoding="ascii").strip()


@frozen
class Mount:
    """A file system.

    Attributes:
        path: Where it is mounted.
        kind: Its type, such as `ext4`.
    """

    path: str
    kind: str


def mount_of(folder: Path, mounts: Path = _MOUNTS) -> Mount | None:
    """Return the file system that a folder is on; None where the system does not tell."""
    if not mounts.exists():
        return None
    found = (_mount(line) for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines())
    resolved = folder.resolve()
    above = [each for each in found if each is not None and resolved.is_relative_to(each.path)]
    # Of two mounts at one place the later one is on top.
    return max(reversed(above), key=lambda each: len(each.path), default=None)


def _mount(line: str) -> Mount | None:
    """Read a line: id, parent, device, root, place, options, more of them, a hyphen, type and so on."""
    before, hyphen, behind = line.partition(" - ")
    place, kind = before.split(), behind.split()
    if not hyphen or len(place) < 5 or not kind:
        return None
    return Mount(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), place[4]), kind[0])
