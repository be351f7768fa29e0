"""JSON of other programs becomes objects of the classes of documents, or is refused."""

import json
from typing import Any

import attrs
import pytest
from attrs import frozen

from kafka_groups.cli.documents.reading import UnfitDocumentError, read_document
from kafka_groups.share.workers.status import WorkerStatus
from tests.support.worker_statuses import busy_status


@frozen
class GrownEntry:
    """A class that has got a field with a default."""

    name: str
    size: int | None = None


def busy() -> Any:
    return json.loads(json.dumps(attrs.asdict(busy_status())))


def test_what_is_written_is_read() -> None:
    assert read_document(WorkerStatus, busy()) == busy_status()


def test_fields_of_newer_releases_are_ignored_and_those_with_a_default_may_be_missing() -> None:
    assert read_document(GrownEntry, {"name": "a", "colour": ["red"]}) == GrownEntry("a")
    assert read_document(GrownEntry, {"name": "a", "size": 3}) == GrownEntry("a", 3)
    assert isinstance(read_document(WorkerStatus, {**busy(), "newer": {}}), WorkerStatus)


def test_whole_numbers_are_numbers() -> None:
    given = busy()
    given["handlers"][0]["rate"] = 3
    assert read_document(WorkerStatus, given).handlers[0].rate == 3.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("group", None),
        ("is_live", 1),
        ("at_ms", True),
        ("at_ms", 1.5),
        ("at_ms", 10**400),
        ("handlers", {}),
        ("handlers", [None]),
        ("handlers", [{"name": "a"}]),
        ("reasons", [1]),
    ],
)
def test_other_types_are_refused_with_the_name_of_the_field(field: str, value: object) -> None:
    with pytest.raises(UnfitDocumentError, match=field):
        read_document(WorkerStatus, {**busy(), field: value})


@pytest.mark.parametrize("value", ["1", True, 10**400, None])
def test_numbers_are_numbers(value: object) -> None:
    given = busy()
    given["handlers"][0]["rate"] = value
    with pytest.raises(UnfitDocumentError, match="rate of handlers of the document has another type"):
        read_document(WorkerStatus, given)


@pytest.mark.parametrize("given", [[], "text", None, 3])
def test_what_is_no_object_is_refused(given: object) -> None:
    with pytest.raises(UnfitDocumentError, match="the answer is not an object"):
        read_document(WorkerStatus, given, "the answer")


def test_a_missing_field_is_named() -> None:
    with pytest.raises(UnfitDocumentError, match="the document has no group"):
        read_document(WorkerStatus, {})
