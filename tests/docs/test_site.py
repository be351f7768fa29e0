"""The documentation's site in a browser: nothing is cut off, on a laptop and on a telephone."""

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.docs.browser import Browser, missing

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

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("site")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        check=True,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
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
