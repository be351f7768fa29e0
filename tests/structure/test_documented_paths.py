"""The pages for contributors name only files and folders that exist.

A path in backticks begins in `kafka_groups/` or in the root of the repository. A name without its folder is in the
folder of the path before it, in the same cell of a table, or in the same paragraph with the lists that follow it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(DOCS / name for name in ("architecture.md", "contributing.md", "testing.md", "where-to-start.md")),
    *sorted((DOCS / "decisions").glob("*.md")),
]
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"`([\w.*-]*/[\w.*/-]*|[\w*-]+\.py)`")


def missing_paths(text: str) -> list[str]:
    """The paths of a page that lead nowhere."""
    return [path for block in _blocks(_FENCE.sub("", text)) for path in _missing_of(block)]


def _blocks(text: str) -> Iterator[str]:
    block = ""
    for part in re.split(r"\n\s*\n", text):
        if part.startswith("|"):
            yield from part.replace("\n", "").split("|")
        elif part.startswith("- "):
            block += part
        else:
            yield block
            block = part
    yield block


def _missing_of(block: str) -> Iterator[str]:
    folder = None
    for path in _PATH.findall(block):
        in_full = next((found for root in (ROOT / "kafka_groups", ROOT) if (found := _found(root, path))), None)
        found = in_full or (_found(folder, path) if folder is not None else None)
        if found is None:
            yield path
        elif in_full is not None or "/" in path:
            folder = found if found.is_dir() else found.parent


def _found(folder: Path, path: str) -> Path | None:
    return next(folder.glob(path.rstrip("/")), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_paths_of_a_page_exist(page: Path) -> None:
    assert missing_paths(page.read_text(encoding="utf-8")) == [], f"{page.relative_to(ROOT)} names what does not exist"


def test_paths_that_lead_nowhere_are_found() -> None:
    assert missing_paths("Read `share/nowhere.py`, `nothing/`.") == ["share/nowhere.py", "nothing/"]
    assert missing_paths("| `share/consumer.py`, `aio.py` | `aio.py` |") == ["aio.py"]
    assert missing_paths("`broker/coordinators/groups/shard.py`, `share/group.py`, `shard.py`") == ["shard.py"]
    assert missing_paths("In `share/delivery`: `inbox.py`.\n\nAnd `marks.py`.") == ["marks.py"]


def test_paths_that_lead_somewhere() -> None:
    paragraph = "`tests/structure` and `share/delivery/inbox.py`, `marks.py`:\n\n- `records.py`\n- `c*.py`"
    assert missing_paths(f"{paragraph}\n\n| `broker/cluster.py` | `README.md`, `and` so on |") == []
