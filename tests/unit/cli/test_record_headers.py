import pytest

from kafka_groups.cli.record_headers import headers_from_json, headers_to_json


def test_headers_come_back_from_json() -> None:
    headers = (("h", b"text"), ("h", None), ("i", b"\xff"))
    shown = [["h", "text"], ["h", None], ["i", {"base64": "/w=="}]]
    assert headers_to_json(headers) == shown
    assert headers_from_json(shown) == list(headers)


@pytest.mark.parametrize("given", [{"a": "b"}, [["a"]], [["a", 1]], [[1, "a"]], [["\ud800", ""]]])
def test_what_is_no_list_of_headers_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="headers: "):
        headers_from_json(given)
