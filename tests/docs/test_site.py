"""The documentation's site in a browser.

Nothing is cut off, on a laptop and on a telephone. Diagrams are drawn without the internet, and search finds guides
before internals.
"""

import functools
import threading
import tomllib
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.docs.browser import Browser, missing
from tests.docs.building import built_site

WIDTHS_PX = [1280, 390]

PROBLEMS = """
const problems = [];
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth) {
    problems.push(`the page is ${root.scrollWidth} px wide`);
}
for (const table of document.querySelectorAll("article table")) {
    const name = table.innerText.split("\\n", 1)[0];
    if (table.scrollWidth > table.clientWidth + 1) {
        problems.push(`table "${name}": ${table.scrollWidth} px in ${table.clientWidth} px`);
    }
    for (let box = table.parentElement; box !== document.body; box = box.parentElement) {
        if (getComputedStyle(box).overflowX !== "visible" && box.scrollWidth > box.clientWidth + 1) {
            problems.push(`table "${name}" does not fit into ${box.className || box.tagName}`);
        }
    }
}
return problems;
"""

SHOW_ARTICLE = """
return fetch(arguments[0]).then(response => response.text()).then(text => {
    const page = new DOMParser().parseFromString(text, "text/html");
    document.querySelector("article").replaceWith(document.adoptNode(page.querySelector("article")));
});
"""

DRAWN = """
return new Promise(resolve => {
    const look = () => {
        const drawn = [...document.querySelectorAll("div.mermaid")].map(each => each.getBoundingClientRect().height);
        if (document.querySelector("pre.mermaid") || Math.min(...drawn) < 50) {
            setTimeout(look, 50);
        } else {
            const loaded = performance.getEntriesByType("resource").map(each => new URL(each.name).origin);
            resolve([drawn.length, loaded.filter(each => each !== location.origin)]);
        }
    };
    look();
});
"""
"""Waits until each diagram has a picture, and returns how many there are, and the other places that were asked."""

FOUND = """
const input = document.querySelector(".md-search__input");
document.querySelector("#__search").checked = true;
input.focus();
input.value = arguments[0];
input.dispatchEvent(new Event("keyup"));
return new Promise(resolve => {
    const look = () => {
        const first = document.querySelector(".md-search-result__list > li > a");
        if (first) {
            resolve(new URL(first.href).pathname);
        } else {
            setTimeout(look, 50);
        }
    };
    look();
});
"""
"""Searches on a page that has just been opened, and returns the path of the first result."""

FIRST_PAGES = {
    "retry": "/how-to/workers/retries/",
    "lag": "/how-to/",
    "consumer group": "/how-to/",
    "install": "/install/",
    "dead letters": "/how-to/workers/dead-letters/",
    "exactly once": "/how-to/streams/exactly-once/",
    "metrics": "/how-to/monitoring/",
}
"""What somebody searches who uses the package, and how the path of the first result begins."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("site")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = built_site(ROOT, folder)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_QuietHandler, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("width_px", WIDTHS_PX)
def test_nothing_is_cut_off(width_px: int, site: Path, address: str, tmp_path: Path) -> None:
    """Shows all articles in one page: the styles and scripts of a page take ten times as long as its article."""

    def show(browser: Browser, url: str) -> None:
        browser.evaluate(SHOW_ARTICLE, url)

    _assert_that_nothing_is_cut_off(width_px, site, address, tmp_path, show)


@pytest.mark.long
@pytest.mark.parametrize("width_px", WIDTHS_PX)
def test_nothing_is_cut_off_of_whole_pages(width_px: int, site: Path, address: str, tmp_path: Path) -> None:
    _assert_that_nothing_is_cut_off(width_px, site, address, tmp_path, Browser.open)


def test_diagrams_need_no_other_place(address: str, tmp_path: Path) -> None:
    """With the theme alone, they would be drawn by a script from the internet."""
    with _browser(tmp_path) as browser:
        for page, diagrams in {"": 2, "reference/states/": 7, "how-to/streams/exactly-once/": 1}.items():
            browser.open(f"{address}/{page}")
            assert browser.evaluate(DRAWN) == [diagrams, []]


def test_search_finds_guides_first(address: str, tmp_path: Path) -> None:
    with _browser(tmp_path) as browser:
        found = {}
        for words in FIRST_PAGES:
            browser.open(f"{address}/")
            found[words] = browser.evaluate(FOUND, words)
    assert {words: page for words, page in found.items() if not page.startswith(FIRST_PAGES[words])} == {}


def test_signatures_are_formatted() -> None:
    """The plugin formats them with ruff, and leaves them in one line, which is clipped, if that is missing."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(each.startswith("ruff") for each in extras["docs"])


def _browser(profile: Path) -> Browser:
    if why := missing():
        pytest.skip(why)
    return Browser(WIDTHS_PX[0], profile)


def _assert_that_nothing_is_cut_off(
    width_px: int, site: Path, address: str, profile: Path, show: Callable[[Browser, str], None]
) -> None:
    if why := missing():
        pytest.skip(why)
    pages = sorted(str(page.parent.relative_to(site)) for page in site.rglob("index.html"))
    assert len(pages) > 30
    with Browser(width_px, profile) as browser:
        browser.open(address)
        assert browser.evaluate("return window.innerWidth") == width_px
        found = {page: _problems(browser, f"{address}/{page}/", show) for page in pages}
        _assert_that_problems_are_noticed(browser)
    assert {page: problems for page, problems in found.items() if problems} == {}


def _problems(browser: Browser, url: str, show: Callable[[Browser, str], None]) -> list[str]:
    show(browser, url)
    problems = browser.evaluate(PROBLEMS)
    assert isinstance(problems, list)
    return problems


def _assert_that_problems_are_noticed(browser: Browser) -> None:
    wide = "<table><tr><td><div style='width: 3000px'>wide</div></td></tr></table>"
    browser.evaluate(f'document.querySelector("article").innerHTML = "{wide}"')
    assert browser.evaluate(PROBLEMS)


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of its base
        pass
