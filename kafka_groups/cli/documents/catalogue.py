"""All documents: the commands that print them, and the classes of their items or lines."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from kafka_groups.cli.documents.dead_letters import (
    CountEntry,
    DeadLetterContents,
    DeadLetterEntry,
    DeletedRecordsEntry,
    PlannedLetterEntry,
    SentLettersEntry,
)
from kafka_groups.cli.documents.top import TopWorkerEntry

__all__ = ["DOCUMENTS", "LINES"]

DOCUMENTS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        "dead-letters list": DeadLetterEntry,
        "dead-letters list --summary": CountEntry,
        "dead-letters show": DeadLetterContents,
        "dead-letters send-again": SentLettersEntry,
        "dead-letters send-again --dry-run": PlannedLetterEntry,
        "dead-letters delete": DeletedRecordsEntry,
    }
)
"""The class of the items by the command that prints them."""

LINES: Final[Mapping[str, type[Any]]] = MappingProxyType({"top --worker": TopWorkerEntry})
"""The class of the lines by the command that prints one object a line."""
