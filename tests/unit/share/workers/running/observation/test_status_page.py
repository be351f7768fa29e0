"""The page about a worker: everything is escaped, nothing is loaded, and the size is bounded."""

import re
from html.parser import HTMLParser

from attrs import evolve

from kafka_groups.share.workers.running.observation.status_page import status_page
from tests.support.worker_statuses import GOLDEN, busy_status, idle_handler

PAGE = GOLDEN / "page.html"


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_is_the_golden_one() -> None:
    assert status_page(busy_status()) == PAGE.read_text(encoding="utf-8")


def test_names_and_reasons_are_escaped() -> None:
    evil = "<script>alert(1)</script>\"'&"
    handler = evolve(idle_handler(evil), topics=(evil,))
    page = status_page(evolve(busy_status(), group=evil, reasons=(evil,), handlers=(handler,)))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 5
    assert {tag for tag, _ in Tags(page).found}.isdisjoint({"script", "img", "iframe", "object", "form"})


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = status_page(busy_status())
    assert "://" not in page
    links = [
        value for _, attributes in Tags(page).found for name, value in attributes.items() if name in ("href", "src")
    ]
    assert links == ["/status", "/metrics"]
    assert re.search(r"default-src 'none'", page)


def test_a_worker_that_is_ready_has_no_reasons() -> None:
    page = status_page(evolve(busy_status(), is_ready=True, reasons=(), restarts=0, processes=1, left_out=0))
    assert "<p>Ready. 1 process. 2026-01-01 00:01:01 UTC.</p>" in page
    assert "<ul>" not in page
    assert "left out" not in page


def test_a_worker_that_needs_a_restart_says_so() -> None:
    assert "Not live: it needs a restart" in status_page(evolve(busy_status(), is_live=False))
