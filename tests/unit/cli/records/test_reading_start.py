import pytest

from kafka_groups.cli.records.reading_start import ReadingStart


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", ReadingStart("earliest")),
        ("latest", ReadingStart("latest")),
        ("12", ReadingStart(12)),
        ("-3", ReadingStart(-3)),
        ("-0", ReadingStart("latest")),
        ("1970-01-01T00:00:01.7", ReadingStart("", 1_700)),
        ("1970-01-01T01:00:01.7+01:00", ReadingStart("", 1_700)),
    ],
)
def test_forms_of_a_start(text: str, start: ReadingStart) -> None:
    assert ReadingStart.parse(text) == start


@pytest.mark.parametrize("text", ["", "first", "1.5", "--1", "2026-13-01", "²"])
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a place to begin\. Give earliest, latest, an offset, -N"):
        ReadingStart.parse(text)
