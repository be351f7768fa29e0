"""`kafka-groups dead-letters list`."""

from collections.abc import Sequence
from typing import Any, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.dead_letters.entries import count_entry, entry_of, shown_origin
from kafka_groups.cli.dead_letters.selection_options import selected, selection_options
from kafka_groups.cli.dead_letters.topic_use import using_topic
from kafka_groups.cli.documents.dead_letters import CountEntry, DeadLetterEntry
from kafka_groups.cli.text_tables import one_line
from kafka_groups.cli.times import shown_ms
from kafka_groups.share.dead_letters.rules.selections import DeadLetterSelection

__all__ = ["list_letters"]

_MOST: Final = 100


@click.command("list")
@click.argument("topic")
@selection_options
@click.option("-n", "most", type=click.IntRange(1), help=f"At most so many, the oldest ones.  [default: {_MOST}]")
@click.option("--summary", is_flag=True, help="Print how many there are of each origin and error.")
@answer_options
@connecting
def list_letters(
    connection: BrokerChoice, form: AnswerForm, topic: str, most: int | None, *, summary: bool, **given: Any
) -> None:
    """Print the dead letters of TOPIC, the oldest first. This reads the log, and changes nothing.

    With --quiet, it prints PARTITION@OFFSET, which `dead-letters show` and `dead-letters send-again` read.

    The exit status is 1 if the topic could not be read.
    """
    selection = selected(**given)
    if not summary:
        _list(connection, topic, selection, CommandAnswer(form), most or _MOST)
    elif most is not None or form is AnswerForm.NAMES:
        raise click.UsageError("--summary counts all dead letters and has no names: leave -n and --quiet out.")
    else:
        _count(connection, topic, selection, CommandAnswer(form))


def _list(
    connection: BrokerChoice,
    name: str,
    selection: DeadLetterSelection,
    answer: CommandAnswer[DeadLetterEntry],
    most: int,
) -> None:
    with answer.failing_for(name):
        found = using_topic(connection, name, lambda topic: topic.oldest(selection, most))
        answer.items += map(entry_of, found.letters)
        if found.has_more:
            click.echo(
                f"{name}: there are more. Use -n to print more than {most}, or --since to begin later.", err=True
            )
        elif not found.letters:
            click.echo(f"{name}: no dead letters are selected.", err=True)
    answer.tell(_LETTERS.lines, lambda each: f"{each.partition}@{each.offset}")


def _count(
    connection: BrokerChoice, name: str, selection: DeadLetterSelection, answer: CommandAnswer[CountEntry]
) -> None:
    with answer.failing_for(name):
        answer.items += map(count_entry, using_topic(connection, name, lambda topic: topic.counts(selection)))
    answer.tell(_COUNTS.lines)


def _row(letter: DeadLetterEntry) -> Sequence[str]:
    return (
        str(letter.partition),
        str(letter.offset),
        shown_ms(letter.timestamp_ms),
        one_line(shown_origin(letter.origin)),
        one_line(letter.group),
        one_line(letter.reason),
    )


def _count_row(count: CountEntry) -> Sequence[str]:
    return (
        str(count.count),
        one_line(count.origin),
        shown_ms(count.first_ms),
        shown_ms(count.last_ms),
        one_line(count.error),
    )


_LETTERS: Final = AnswerTable[DeadLetterEntry](
    ("PARTITION", "OFFSET", "TIME", "ORIGIN", "GROUP", "REASON"), _row, ("PARTITION", "OFFSET")
)
_COUNTS: Final = AnswerTable[CountEntry](("COUNT", "ORIGIN", "FIRST", "LAST", "ERROR"), _count_row, ("COUNT",))
