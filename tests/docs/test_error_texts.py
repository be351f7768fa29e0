"""The page that explains errors by their text quotes texts that the package has."""

import ast
import re
from pathlib import Path

import kafka_groups

ROOT = Path(kafka_groups.__file__).parent
PAGE = ROOT.parent / "docs" / "how-to" / "error-texts.md"


def texts_of(path: Path) -> str:
    """All texts of a module, with a mark where a value is filled in."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return "\n".join(found)


def test_each_quoted_text_is_one_of_the_package() -> None:
    quoted = re.findall(r'^### "(.+)"$', PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    texts = "\n".join(map(texts_of, ROOT.rglob("*.py")))
    assert len(quoted) > 15
    assert [text for text in quoted if text not in texts] == []
