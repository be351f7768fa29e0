"""`kafka-groups streams list`."""

from typing import Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.groups.list_groups import GROUPS_TABLE
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.choices import choosing_states
from kafka_groups.cli.documents.described_groups import GroupEntry
from kafka_groups.cli.problems import problem_of

__all__ = ["list_groups"]

_STATES: Final = ("Empty", "NotReady", "Assigning", "Reconciling", "Stable", "Dead")
_TYPE: Final = "streams"


@click.command("list")
@choosing_states(*_STATES)
@answer_options
@connecting
def list_groups(connection: BrokerChoice, form: AnswerForm, states: tuple[str, ...]) -> None:
    """Print each streams group and its state.

    The exit status is 1 if a broker did not list its groups.
    """
    answer = CommandAnswer[GroupEntry](form)
    with asking(connection, answer) as admin:
        found = admin.list_streams_groups(states=states)
        answer.items += [GroupEntry(each.group_id, _TYPE, each.state) for each in found.groups]
        for node_id, error in found.errors.items():
            answer.fail(problem_of(f"broker {node_id}", error))
    answer.tell(GROUPS_TABLE.lines, lambda each: each.group)
