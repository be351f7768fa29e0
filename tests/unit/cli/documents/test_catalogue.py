from typing import Any

import pytest
from click import Group
from jsonschema import Draft202012Validator

from kafka_groups.cli.documents.catalogue import DOCUMENTS, LINES
from kafka_groups.cli.documents.document import line_schema_of, schema_of
from kafka_groups.cli.main import main


@pytest.mark.parametrize("kind", DOCUMENTS.values())
def test_each_class_has_a_schema_with_descriptions(kind: type[Any]) -> None:
    schema = schema_of(kind)
    Draft202012Validator.check_schema(schema)
    fields = schema["properties"]["items"]["items"]["properties"]
    assert all(each["description"].endswith(".") for each in fields.values())


@pytest.mark.parametrize("kind", LINES.values())
def test_each_class_of_lines_has_one_too(kind: type[Any]) -> None:
    schema = line_schema_of(kind)
    Draft202012Validator.check_schema(schema)
    assert all(each["description"].endswith(".") for each in schema["properties"].values())


@pytest.mark.parametrize("name", [*DOCUMENTS, *LINES])
def test_each_document_is_that_of_a_command_that_prints_json(name: str) -> None:
    words, _, options = name.partition(" --")
    command: Any = main
    for word in words.split():
        assert isinstance(command, Group)
        command = command.get_command(None, word)  # type: ignore[arg-type] # it is not used
    known = {option for each in command.params for option in each.opts}
    assert "--json" in known
    assert not options or f"--{options}" in known
