"""Tables of pages have a head: rows behind an empty line would be shown as text."""

import re
from collections.abc import Iterator

from tests.docs.blocks import ROOT

FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
RULE = re.compile(r"^ *\|(?: *:?-+:? *\|)+ *$")


def headless(text: str) -> Iterator[str]:
    """The first rows of tables that have no rule below them."""
    lines = FENCE.sub("", text).splitlines()
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if line.lstrip().startswith("|") and not before.lstrip().startswith("|") and not RULE.match(after):
            yield line


def test_each_table_of_a_page_has_a_head() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    assert [f"{page.name}: {row[:60]}" for page in pages for row in headless(page.read_text(encoding="utf-8"))] == []


def test_rows_without_a_head_are_found() -> None:
    table = "| a | b |\n| --- | :-: |\n| 1 | 2 |\n"
    assert list(headless(table)) == []
    assert list(headless(f"{table}\n| 3 | 4 |\n")) == ["| 3 | 4 |"]
    assert list(headless("```text\n| 3 | 4 |\n```\n")) == []
