"""`kafka-groups dead-letters send-again`."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import Consent, consent_options
from kafka_groups.cli.dead_letters.selection_options import PLACE, selected, selection_options
from kafka_groups.cli.dead_letters.topic_use import using_topic
from kafka_groups.cli.documents.dead_letters import PlannedLetterEntry, SentLettersEntry
from kafka_groups.cli.problems import CommandProblem, problem_of
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import counted
from kafka_groups.share.dead_letters.rules.dead_letter_records import RecordPlace
from kafka_groups.share.dead_letters.rules.sending import LetterToSend, SendingRules, SkippedLetter

if TYPE_CHECKING:
    from kafka_groups.share.dead_letters.letter_planner import FailedLetter, PlannedLetter
    from kafka_groups.share.dead_letters.letter_sender import LetterResult
    from kafka_groups.share.dead_letters.resending import ResendingRequest
    from kafka_groups.share.dead_letters.topic import DeadLetterTopic

__all__ = ["send_again"]

_MOST_TIMES: Final = 3


@click.command("send-again")
@click.argument("topic")
@click.argument("places", metavar="[PARTITION@OFFSET]...", nargs=-1, type=PLACE)
@selection_options
@click.option("-n", "count", type=click.IntRange(1), help="At most so many.")
@click.option(
    "--to", metavar="TOPIC", help="Send all of them to this topic.  [default: the topics that they came from]"
)
@click.option(
    "--most",
    type=click.IntRange(1),
    default=_MOST_TIMES,
    help="Skip a record that was sent again so often already, and came back.",
)
@consent_options
@answer_options
@connecting
def send_again(
    connection: BrokerChoice,
    form: AnswerForm,
    consent: Consent,
    topic: str,
    **given: Any,
) -> None:
    """Send dead letters of TOPIC to the topics that they came from, as records with their own headers.

    Without a selection, it sends those that it has not sent before. The share group TOPIC-resend remembers them. A dead
    letter that is skipped is not looked at again, unless you name its PARTITION@OFFSET.

    With --since, --until, --origin, --reason or PARTITION@OFFSET, it sends what you select and remembers nothing.

    Dead letters stay in TOPIC. Those without key and value, which brokers write without copy.record.enable, are read at
    their origin. It asks on a terminal. Elsewhere, give --yes or --dry-run.

    The exit status is 1 if a dead letter was skipped or could not be sent.
    """
    request = _request(**given)
    if request.rules.to == topic:
        raise click.BadParameter(f"{topic!r} is the topic with the dead letters. Name another one.", param_hint="--to")
    consent.check()
    if consent.is_dry_run:
        _plan(connection, topic, request, CommandAnswer(form))
    else:
        _send(connection, topic, request, consent, CommandAnswer(form))


def _request(
    *, places: tuple[RecordPlace, ...], count: int | None, to: str | None, most: int, **given: Any
) -> "ResendingRequest":
    from kafka_groups.share.dead_letters.resending import ResendingRequest  # noqa: PLC0415 - help texts need no client

    return ResendingRequest(selected(places=places, **given), count, SendingRules(to, most))


def _plan(
    connection: BrokerChoice, name: str, request: "ResendingRequest", answer: CommandAnswer[PlannedLetterEntry]
) -> None:
    from kafka_groups.share.dead_letters.resending import Resending  # noqa: PLC0415 - as above

    async def run(topic: "DeadLetterTopic") -> tuple[Sequence["PlannedLetter"], int | None]:
        resending = Resending(topic, request, connection.client_config(), connection.timeout_ms)
        return await resending.plan(), await resending.most()

    with answer.failing_for(name):
        found, most = using_topic(connection, name, run)
        if most is not None and most < len(found):
            left = counted(most, "dead letter")
            click.echo(f"{name}: the group has {left} left, and the brokers do not say which of these.", err=True)
        for planned in found:
            if isinstance(planned, LetterToSend):
                answer.items.append(
                    PlannedLetterEntry(name, planned.place.partition, planned.place.offset, planned.topic)
                )
            else:
                answer.fail(_problem(name, planned))
        if not answer.items and not answer.problems:
            click.echo(f"{name}: there is nothing to send.", err=True)
    answer.tell(_PLAN.lines, lambda each: f"{each.partition}@{each.offset}")


def _send(
    connection: BrokerChoice,
    name: str,
    request: "ResendingRequest",
    consent: Consent,
    answer: CommandAnswer[SentLettersEntry],
) -> None:
    from kafka_groups.share.dead_letters.letter_sender import SentLetter  # noqa: PLC0415 - as above
    from kafka_groups.share.dead_letters.resending import Resending  # noqa: PLC0415 - as above

    counts = Counter[str]()

    def report(result: "LetterResult") -> None:
        if isinstance(result, SentLetter):
            counts[result.topic] += 1
        else:
            answer.fail(_problem(name, result))

    async def run(topic: "DeadLetterTopic") -> None:
        resending = Resending(topic, request, connection.client_config(), connection.timeout_ms)
        most = await resending.most()
        if most == 0:
            click.echo(f"{name}: there is nothing that was not sent before.", err=True)
            return
        consent.ask(_question(name, most, request))
        try:
            await resending.send(most, report)
        except ConfigurationError as error:  # of the group, and not of the command
            answer.fail(problem_of(name, error))

    with answer.failing_for(name):
        using_topic(connection, name, run)
    answer.items += [SentLettersEntry(to, count) for to, count in sorted(counts.items())]
    answer.tell(_SENT.lines)


def _question(name: str, most: int | None, request: "ResendingRequest") -> str:
    which = "the selected dead letters" if most is None else f"at most {counted(most, 'dead letter')}"
    where = "the topics that they came from" if request.rules.to is None else request.rules.to
    return f"Send {which} of {name} again, to {where}?"


def _problem(name: str, result: "SkippedLetter | FailedLetter") -> CommandProblem:
    resource = f"{name} {result.place}"
    if isinstance(result, SkippedLetter):
        return CommandProblem(resource, f"Skipped. {result.reason}", result.remedy)
    return problem_of(resource, result.error)


def _planned_row(entry: PlannedLetterEntry) -> Sequence[str]:
    return str(entry.partition), str(entry.offset), entry.to


def _sent_row(entry: SentLettersEntry) -> Sequence[str]:
    return entry.to, str(entry.count)


_PLAN: Final = AnswerTable[PlannedLetterEntry](("PARTITION", "OFFSET", "TO"), _planned_row, ("PARTITION", "OFFSET"))
_SENT: Final = AnswerTable[SentLettersEntry](("TO", "SENT"), _sent_row, ("SENT",))
