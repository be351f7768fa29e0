"""What a check has left in its process, which is its own (`alone`): descriptors and threads that were not there before.

What is left as garbage may go at any time, so fewer than before is no fault. A count would take one more and one less
for none.
"""

import threading
from pathlib import Path

from attrs import frozen

__all__ = ["OpenThings"]


@frozen
class OpenThings:
    """The descriptors and threads of this process at one time.

    Attributes:
        files: Number and object of each open descriptor.
        threads: The threads that are alive.
    """

    files: frozenset[str]
    threads: frozenset[threading.Thread]

    @classmethod
    def now(cls) -> "OpenThings":
        """Return what is open now."""
        return cls(frozenset(_files()), frozenset(threading.enumerate()))

    def new(self) -> list[str]:
        """Return what is open now and was not then."""
        now = OpenThings.now()
        return sorted(map(str, (*now.files - self.files, *now.threads - self.threads)))


def _files() -> list[str]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            found.append(f"{link.name} {link.readlink()}")
        except FileNotFoundError:  # closed meanwhile, such as the one that lists the folder
            continue
    return found
