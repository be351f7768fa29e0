import pytest

from kafka_groups.cli.records.record_columns import ReadColumns
from kafka_groups.cli.records.record_forms import ValueLines, read_format
from kafka_groups.types import RecordRow

ROWS: list[RecordRow] = [
    (3, b"ann", b"50% \xff", 1_700, (("h", b"x"), ("i", None))),
    (5, None, None, -1, ()),
]
COLUMNS = ReadColumns("orders", 2, ROWS)
NOTHING = ReadColumns("orders", 2, [])


def printed(form: str, columns: ReadColumns = COLUMNS) -> bytes:
    return read_format(form, counts_deliveries=False).text(columns)


def test_values_are_lines_and_null_is_an_empty_one() -> None:
    assert ValueLines().text(COLUMNS) == b"50% \xff\n\n"
    assert ValueLines().text(ReadColumns("orders", 0, ROWS[:1])) == b"50% \xff\n"
    assert ValueLines().text(NOTHING) == b""


def test_each_letter_is_a_part_of_a_record() -> None:
    assert printed(r"%t %p %o\t%k=%v %T %h%%\n") == (b"orders 2 3\tann=50% \xff 1700 h=x,i=%\n" + b"orders 2 5\t=  %\n")


def test_a_format_may_have_no_letter_or_none_that_differs() -> None:
    assert printed(r".\\") == b".\\.\\"
    assert printed("%t%p ü") == "orders2 üorders2 ü".encode()
    assert printed("%v", NOTHING) == printed("x", NOTHING) == b""


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("%x", "%x is not a part of a record. Use %t, %p, %o, %k, %v, %T, %h, or %% for a percent sign."),
        ("%", "% is not a part of a record"),
        ("%d", "%d is the delivery count, which only records of share-consume have."),
        (r"\r", r"\r is unknown. Use \n"),
        ("\\", "is unknown"),
    ],
)
def test_other_letters_are_refused(form: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text is compared below
        read_format(form, counts_deliveries=False)
    assert said in str(refused.value)


def test_the_delivery_count_is_a_letter_of_groups() -> None:
    with pytest.raises(ValueError, match="%h, %d, or"):
        read_format("%x", counts_deliveries=True)
    read_format("%d", counts_deliveries=True)
