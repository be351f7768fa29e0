"""The page about rights has the rights that tests prove, and those of the table that handlers follow."""

from tests.generating.rights_page import COMMAND, PAGE, generated


def test_the_tables_are_as_generated() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert generated(text) == text, f"run {COMMAND}"
