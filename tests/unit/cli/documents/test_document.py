import json

import pytest
from attrs import frozen
from jsonschema import Draft202012Validator, ValidationError

from kafka_groups.cli.documents.document import (
    BytesEntry,
    ErrorEntry,
    JsonBytes,
    document_text,
    json_bytes,
    schema_of,
)


@frozen
class PartEntry:
    """A part.

    Attributes:
        name: Its name.
        size: Its size, which may be
            unknown.
    """

    name: str
    size: int | None


@frozen
class WholeEntry(PartEntry):
    """A whole.

    Attributes:
        parts: Its parts.
        largest: The largest of them.
        pairs: Pairs.
        data: Bytes.
        done: Whether it is done.
    """

    parts: tuple[PartEntry, ...]
    largest: PartEntry | None
    pairs: tuple[tuple[str, JsonBytes], ...]
    data: JsonBytes
    done: bool


WHOLE = WholeEntry("whole", None, (PartEntry("a", 1),), None, (("x", "y"), ("z", None)), BytesEntry("/w=="), done=True)


def test_a_document_fits_the_schema_of_its_classes() -> None:
    document = json.loads(document_text([WHOLE], [ErrorEntry("topic x", None, "It is missing.", None)]))
    Draft202012Validator.check_schema(schema_of(WholeEntry))
    Draft202012Validator(schema_of(WholeEntry)).validate(document)
    assert document["items"][0]["data"] == {"base64": "/w=="}
    assert document["errors"][0]["message"] == "It is missing."


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", None),
        ("size", "1"),
        ("parts", [{"name": "a"}]),
        ("largest", {}),
        ("pairs", [["x"]]),
        ("pairs", [["x", "y", "z"]]),
        ("data", {"hex": "ff"}),
        ("done", 1),
    ],
)
def test_other_documents_do_not_fit(field: str, value: object) -> None:
    document = json.loads(document_text([WHOLE], []))
    document["items"][0][field] = value
    with pytest.raises(ValidationError):
        Draft202012Validator(schema_of(WholeEntry)).validate(document)
    del document["items"][0][field]
    with pytest.raises(ValidationError):
        Draft202012Validator(schema_of(WholeEntry)).validate(document)


def test_fields_have_the_descriptions_of_the_class_that_declares_them() -> None:
    fields = schema_of(WholeEntry)["properties"]["items"]["items"]["properties"]
    assert fields["size"] == {"description": "Its size, which may be unknown.", "type": ["integer", "null"]}
    assert fields["done"] == {"description": "Whether it is done.", "type": "boolean"}
    assert list(fields) == ["name", "size", "parts", "largest", "pairs", "data", "done"]


def test_bytes_are_text_if_they_are_utf_8() -> None:
    assert json_bytes(b"caf\xc3\xa9") == "café"
    assert json_bytes(b"\xff") == BytesEntry("/w==")
    assert (json_bytes(None), json_bytes(b"")) == (None, "")
