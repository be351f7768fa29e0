"""Puts guides before internals in the results of the site's search."""

from types import MappingProxyType
from typing import Any

__all__ = ["on_page_markdown"]

_BOOSTS = MappingProxyType({
    "install.md": 4.0,
    "tutorial": 2.0,
    "how-to/workers/retry-topics.md": 1.0,  # behind the page about all retries
    "how-to/": 2.0,
    "reference/": 0.4,
    "explanation/which-group.md": 4.0,
    "explanation/": 1.0,
    "glossary.md": 0.5,
    "benchmarks.md": 0.2,
    "changelog.md": 0.2,
    "contributing.md": 0.2,
    "where-to-start.md": 0.2,
    "architecture.md": 0.2,
    "testing.md": 0.2,
    "decisions/": 0.1,
})  # fmt: skip
"""By how much the score of a page is multiplied, by the beginning of its path."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Tell the search plugin, unless the page says something else."""
    boost = next((found for start, found in _BOOSTS.items() if page.file.src_uri.startswith(start)), 1.0)
    page.meta["search"] = {"boost": boost, **page.meta.get("search", {})}
    return markdown
