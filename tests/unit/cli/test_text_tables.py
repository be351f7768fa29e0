import pytest

from kafka_groups.cli.text_tables import one_line, table_lines


def test_columns_are_aligned_and_numbers_to_the_right() -> None:
    lines = table_lines(
        ("OFFSET", "TOPIC", "REASON"), [("7", "orders", "a"), ("1000000", "x", "")], numbers=("OFFSET",)
    )
    assert list(lines) == [
        " OFFSET  TOPIC   REASON",
        "      7  orders  a",
        "1000000  x",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert list(table_lines(("A", "B"), [("価格", "x"), ("abcd", "y")])) == ["A     B", "価格  x", "abcd  y"]


def test_lines_are_cut_at_a_width_only() -> None:
    rows = [("a" * 20, "b")]
    assert list(table_lines(("A", "B"), rows, width=10)) == ["A        …", "aaaaaaaaa…"]
    assert list(table_lines(("A", "B"), rows, width=23))[1] == "a" * 20 + "  b"
    assert list(table_lines(("A", "B"), rows))[1] == "a" * 20 + "  b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [(None, "-"), ("a b", "a b"), ("a\nb\tc", "a\\nb\\tc"), ("\x1b[2J", "\\x1b[2J"), ("naïve 価格", "naïve 価格")],
)
def test_no_text_leaves_its_cell(text: str | None, shown: str) -> None:
    assert one_line(text) == shown
