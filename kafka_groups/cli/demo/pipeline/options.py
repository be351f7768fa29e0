"""The options of the driver, passed on its command line as JSON."""

import json
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

__all__ = ["DriverOptions", "read_driver_options"]


@frozen(kw_only=True)
class DriverOptions:
    """One run of the driver.

    Attributes:
        bootstrap_servers: Where the brokers are.
        group: The share group.
        topics: The topic of each table.
        workers: How many workers poll side by side.
        directory: Where everything is that outlives the driver.
    """

    bootstrap_servers: str
    group: str
    topics: dict[str, str]
    workers: int
    directory: Path

    @property
    def socket(self) -> Path:
        """Where the demo listens."""
        return self.directory / "socket"

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the streaming query."""
        return self.directory / "checkpoint"

    @property
    def reference_records(self) -> Path:
        """Where the workers write the records of the reference tables."""
        return self.directory / "reference-records"

    @property
    def reference(self) -> Path:
        """The reference tables as the workers load them."""
        return self.directory / "reference"

    @property
    def flights(self) -> Path:
        """Where the workers write enriched flights."""
        return self.directory / "flights"

    @property
    def delays(self) -> Path:
        """The final table."""
        return self.directory / "delays"

    def text(self) -> str:
        """The options as one argument."""
        return json.dumps(asdict(self) | {"directory": str(self.directory)})


def read_driver_options(text: str) -> DriverOptions:
    """The options out of an argument."""
    given: dict[str, Any] = json.loads(text)
    return DriverOptions(**given | {"directory": Path(given["directory"])})
