"""The options of the driver, passed on its command line as JSON."""

import json
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

__all__ = ["DriverOptions", "read_driver_options"]


@frozen(kw_only=True)
class DriverOptions:
    """The options of a run of the driver.

    Attributes:
        bootstrap_servers: Addresses of the brokers.
        group: The share group.
        topics: The topic of each table.
        workers: How many workers poll in parallel.
        directory: Directory for all files, which outlive the driver.
    """

    bootstrap_servers: str
    group: str
    topics: dict[str, str]
    workers: int
    directory: Path

    @property
    def socket(self) -> Path:
        """The demo's socket."""
        return self.directory / "socket"

    @property
    def checkpoint(self) -> Path:
        """Checkpoint directory of the streaming query."""
        return self.directory / "checkpoint"

    @property
    def reference_records(self) -> Path:
        """Directory to which the workers write the records of the reference tables."""
        return self.directory / "reference-records"

    @property
    def reference(self) -> Path:
        """Directory of the reference tables, in the form that the workers load."""
        return self.directory / "reference"

    @property
    def flights(self) -> Path:
        """Directory to which the workers write enriched flights."""
        return self.directory / "flights"

    @property
    def delays(self) -> Path:
        """Directory of the final table."""
        return self.directory / "delays"

    def text(self) -> str:
        """Return the options as one command-line argument."""
        return json.dumps(asdict(self) | {"directory": str(self.directory)})


def read_driver_options(text: str) -> DriverOptions:
    """Return the options in a command-line argument."""
    given: dict[str, Any] = json.loads(text)
    return DriverOptions(**given | {"directory": Path(given["directory"])})
