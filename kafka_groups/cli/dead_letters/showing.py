"""`kafka-groups dead-letters show`."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, connecting
from kafka_groups.cli.answers import AnswerForm, CommandAnswer
from kafka_groups.cli.dead_letters.entries import contents_of, shown_origin
from kafka_groups.cli.dead_letters.selection_options import PLACE
from kafka_groups.cli.dead_letters.topic_use import using_topic
from kafka_groups.cli.documents.dead_letters import DeadLetterContents
from kafka_groups.cli.output import ending_with_pipe
from kafka_groups.cli.problems import CommandProblem
from kafka_groups.cli.text_tables import UNKNOWN, one_line, table_lines
from kafka_groups.cli.times import shown_ms
from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterRecord, RecordPlace

__all__ = ["show"]

_NULL: Final = "(null)"
_EMPTY: Final = "(empty)"
_LAYOUT: Final = "\n\r\t"
"""Control characters that texts have."""


@click.command()
@click.argument("topic")
@click.argument("place", metavar="PARTITION@OFFSET", type=PLACE)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.option("--raw", is_flag=True, help="Write the bytes of the value to standard output, and nothing else.")
@connecting
def show(connection: BrokerChoice, topic: str, place: RecordPlace, *, as_json: bool, raw: bool) -> None:
    """Print a dead letter of TOPIC: its headers, its key and its value, as text or in hexadecimal.

    The exit status is 1 if there is no such record.
    """
    if as_json and raw:
        raise click.UsageError("Give either --json or --raw.")
    answer = CommandAnswer[DeadLetterContents](AnswerForm.JSON if as_json else AnswerForm.TABLE)
    letter = _read(connection, topic, place, answer)
    if letter is not None and raw:
        _write_value(letter, answer)
    elif letter is not None:
        answer.items.append(contents_of(letter))
    answer.tell(lambda _items: () if letter is None or raw else _lines(letter))


def _read(
    connection: BrokerChoice, name: str, place: RecordPlace, answer: CommandAnswer[DeadLetterContents]
) -> DeadLetterRecord | None:
    with answer.failing_for(name):
        found = using_topic(connection, name, lambda topic: topic.at([place]))
        if place in found:
            return found[place]
        remedy = f"kafka-groups dead-letters list {name} shows those that there are."
        answer.fail(CommandProblem(f"{name} {place}", "There is no such record, or it was deleted.", remedy))
    return None


def _write_value(letter: DeadLetterRecord, answer: CommandAnswer[DeadLetterContents]) -> None:
    if letter.record.value is None:
        answer.fail(CommandProblem(str(letter), "Its value is null, so there are no bytes.", "Leave --raw out."))
        return
    with ending_with_pipe():
        sys.stdout.buffer.write(letter.record.value)
        sys.stdout.buffer.flush()


# ------------------------------------------------------------------------------------------------- text


def _lines(letter: DeadLetterRecord) -> Iterator[str]:
    yield from table_lines(("DEAD LETTER", str(letter)), _facts(contents_of(letter)))
    yield ""
    headers = [(one_line(name), _shown(value, _cell)) for name, value in letter.record.headers]
    yield from table_lines(("HEADER", "VALUE"), headers)
    yield from ("", "KEY", _shown(letter.record.key, _text), "", "VALUE", _shown(letter.record.value, _text))


def _facts(letter: DeadLetterContents) -> Iterable[Sequence[str]]:
    return (
        ("TIME", shown_ms(letter.timestamp_ms)),
        ("ORIGIN", one_line(shown_origin(letter.origin))),
        ("GROUP", one_line(letter.group)),
        ("DELIVERIES", _number(letter.delivery_count)),
        ("REASON", one_line(letter.reason)),
        ("SENT AGAIN", _number(letter.sent_again)),
        ("POSSIBLE DUPLICATE", "yes" if letter.possible_duplicate else "no"),
    )


def _number(number: int | None) -> str:
    return UNKNOWN if number is None else str(number)


def _shown(data: bytes | None, text_of: Callable[[bytes], str | None]) -> str:
    if not data:
        return _NULL if data is None else _EMPTY
    text = text_of(data)
    return data.hex(" ") if text is None else text


def _cell(data: bytes) -> str | None:
    text = _text(data)
    return None if text is None else one_line(text)


def _text(data: bytes) -> str | None:
    """Return bytes as text; None if they are not UTF-8, or have control characters that could move the cursor."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if all(each.isprintable() or each in _LAYOUT for each in text) else None
