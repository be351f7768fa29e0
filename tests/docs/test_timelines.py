"""The pictures of time show what topologies do."""

import pytest

from tests.docs.blocks import PAGES
from tests.docs.timelines.pages import PICTURES, pictures_on, redrawn
from tests.docs.timelines.windows import LATE, TUMBLING, UPDATE_AND_CLOSE, outputs, suppressed_outputs

SHOWN = {name: text for page in PAGES for name, text in pictures_on(page.read_text()).items()}


@pytest.mark.parametrize("name", PICTURES)
def test_pages_show_what_topologies_do(name: str) -> None:
    assert SHOWN[name] == PICTURES[name]()


def test_every_picture_on_a_page_is_drawn() -> None:
    assert SHOWN.keys() == PICTURES.keys()


def test_a_picture_that_is_wrong_is_drawn_again() -> None:
    page = f"<!-- timeline: tumbling -->\n```text\n{PICTURES['tumbling']()}```\n"
    assert "a b" in page
    assert redrawn(page.replace("a b", "a c")) == page


def test_suppression_until_windows_close_brings_what_emitting_on_close_does() -> None:
    on_close = outputs(TUMBLING, LATE, UPDATE_AND_CLOSE["on close"])
    assert any(brought.records for brought in on_close)
    assert suppressed_outputs(TUMBLING, LATE) == on_close
