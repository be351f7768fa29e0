"""`kafka-groups groups list`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.groups.group_options import state_option, type_option
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.described_groups import GroupEntry
from kafka_groups.cli.problems import problem_of
from kafka_groups.cli.text_tables import one_line

if TYPE_CHECKING:
    from kafka_groups.admin import GroupList

__all__ = ["GROUPS_TABLE", "add_groups", "list_groups"]


@click.command("list")
@type_option
@state_option
@answer_options
@connecting
def list_groups(connection: BrokerChoice, form: AnswerForm, types: tuple[str, ...], states: tuple[str, ...]) -> None:
    """Print each group that you may describe, with its type and state.

    The exit status is 1 if a broker did not list its groups.
    """
    answer = CommandAnswer[GroupEntry](form)
    with asking(connection, answer) as admin:
        add_groups(admin.list_groups(types=types, states=states), answer)
    answer.tell(GROUPS_TABLE.lines, lambda each: each.group)


def add_groups(found: "GroupList", answer: CommandAnswer[GroupEntry]) -> None:
    """Add the groups of a list to an answer, and the brokers that did not list theirs."""
    answer.items += [GroupEntry(each.group_id, each.type or None, each.state or None) for each in found.groups]
    for node_id, error in found.errors.items():
        answer.fail(problem_of(f"broker {node_id}", error))


def _row(group: GroupEntry) -> Sequence[str]:
    return one_line(group.group), one_line(group.type), one_line(group.state)


GROUPS_TABLE: Final = AnswerTable[GroupEntry](("GROUP", "TYPE", "STATE"), _row)
"""Groups with their types and states."""
