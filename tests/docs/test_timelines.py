"""The pictures of time show what topologies do."""

from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.docs.blocks import PAGES
from tests.docs.hooks import hook_named
from tests.docs.timelines.drawing import Bar, Drawing, Row
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


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    return hook_named("timelines")


def bar_of(span: Any, minutes: int) -> Bar | None:
    if span is None:
        return None
    end = None if span.closing == "▶" else span.end
    assert end is not None or span.end == minutes
    return Bar(span.start, end, span.closing, span.grace, span.opening)


@pytest.mark.parametrize("name", PICTURES)
def test_the_build_reads_all_of_a_picture(hook: ModuleType, name: str) -> None:
    timeline = hook.read(SHOWN[name])
    rows = [Row(row.name, row.marks, bar_of(row.span, timeline.minutes), row.results) for row in timeline.rows]
    assert Drawing(timeline.minutes, rows, timeline.headings).text() == SHOWN[name]


@pytest.mark.parametrize("name", PICTURES)
def test_the_drawing_has_all_texts_at_their_minutes(hook: ModuleType, name: str) -> None:
    made = hook.on_page_markdown(f"before\n\n<!-- timeline: {name} -->\n```text\n{SHOWN[name]}```\nafter")
    (before, svg, after) = made.partition(made[made.index("<div") : made.index("</div>") + len("</div>")])
    assert (before, after) == ("before\n\n", "\nafter")
    assert "\n\n" not in svg, "Markdown would end the block there"
    (drawing,) = ElementTree.fromstring(svg)
    assert drawing.findtext("desc") == SHOWN[name].rstrip("\n")
    timeline = hook.read(SHOWN[name])
    texts = [each.text for each in drawing.iter("text")]
    for row in timeline.rows:
        assert {row.name, *(text for _, text in row.marks), *filter(None, row.results)} <= set(texts)
    grid = [float(line.get("x1", "")) for line in drawing.iter("line") if line.get("class") == "minute"]
    centres = [float(each.get("x", "")) for each in drawing.iter("text") if each.get("class") == "middle"]
    letters = [minute for row in timeline.rows for minute, text in row.marks if len(text) == 1]
    expected = [grid[0] + (grid[1] - grid[0]) * minute for minute in letters]
    assert all(any(x == pytest.approx(each, abs=0.01) for x in centres) for each in expected)
