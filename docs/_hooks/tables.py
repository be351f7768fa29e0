"""Gives the cells of tables the name of their column, so that the stylesheet can stack them on narrow screens."""

from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig

__all__ = ["on_config"]

_AFTER_INLINE_PATTERNS = 5
"""Priority below that of Markdown's own processors, so that the text of a heading cell is final."""


def on_config(config: MkDocsConfig, **_: Any) -> MkDocsConfig:
    """Add the extension. An instance can't be named in mkdocs.yml."""
    config.markdown_extensions.append(_NamedCells())  # type: ignore[arg-type]
    return config


class _NamedCells(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's name
        md.treeprocessors.register(_NameCells(md), "named-cells", _AFTER_INLINE_PATTERNS)


class _NameCells(Treeprocessor):
    def run(self, root: Element) -> None:
        for table in root.iter("table"):
            names = ["".join(cell.itertext()) for cell in table.iter("th")]
            for row in table.iterfind("tbody/tr"):
                for name, cell in zip(names, row, strict=True):
                    cell.set("data-column", name)
