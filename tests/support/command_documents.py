"""Documents of the commands, checked against the schemas of the reference."""

import json
from typing import Any

from click.testing import Result
from jsonschema import Draft202012Validator

from kafka_groups.cli.documents.catalogue import DOCUMENTS
from kafka_groups.cli.documents.document import schema_of

__all__ = ["document"]


def document(done: Result, command: str, status: int = 0) -> Any:
    """The document that a command has printed."""
    assert done.exit_code == status, done.output
    found = json.loads(done.stdout)
    Draft202012Validator(schema_of(DOCUMENTS[command])).validate(found)
    return found
