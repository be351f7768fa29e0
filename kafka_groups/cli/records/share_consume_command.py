"""`kafka-groups share-consume`: records of topics, as a member of a share group."""

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import click

from kafka_groups.cli.consent import is_terminal
from kafka_groups.cli.key_value import refuse_repeated
from kafka_groups.cli.records.named_topics import checked_topic
from kafka_groups.cli.records.reading_options import ReadingOptions, reading_options
from kafka_groups.types import AcknowledgeType

__all__ = ["share_consume"]

_FAILED: Final = 1
_KINDS: Final[Mapping[str, AcknowledgeType]] = MappingProxyType({
    "accept": AcknowledgeType.ACCEPT,
    "release": AcknowledgeType.RELEASE,
    "reject": AcknowledgeType.REJECT,
})  # fmt: skip


@click.command("share-consume")
@click.argument("group")
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC …")
@click.option(
    "--from",
    "start",
    type=click.Choice(("earliest", "latest")),
    help="Where a new group begins. Default: where share.auto.offset.reset says, which is the end of the topics.",
)
@click.option("--accept", is_flag=True, help="Accept records when they are printed. This is the default.")
@click.option("--release", is_flag=True, help="Release them, so that they are delivered again.")
@click.option("--reject", is_flag=True, help="Reject them, so that they are never delivered again.")
@click.option("--ask", is_flag=True, help="Ask for a key for each record. On a terminal only.")
@reading_options(counts_deliveries=True)
def share_consume(reading: ReadingOptions, group: str, topics: Sequence[str], start: str | None, **kinds: bool) -> None:
    """Print records of topics as a member of the share group GROUP until Ctrl-C, and accept those that are printed.

    A new share group begins at the end of its topics. With --from earliest, it begins with what is there.

    --release costs a delivery each time, and brokers archive a record after its last delivery.

    The exit status is 0 if you stop it or if it is done, and 1 if a topic or the group cannot be used, if an
    acknowledgement was refused, or if the records of -n have not come within --timeout.
    """
    kind = _kind(**kinds)
    names = [checked_topic(topic) for topic in topics]
    refuse_repeated(names, "TOPIC")
    from kafka_groups.cli.records.share_consuming import ShareConsuming  # noqa: PLC0415 - help texts need no consumer

    if not ShareConsuming(reading, group, names, kind).run(start):
        sys.exit(_FAILED)


def _kind(*, ask: bool, **kinds: bool) -> AcknowledgeType | None:
    """Return what is done with records; None if a key decides.

    Raises:
        click.UsageError: There are two answers, or nobody can be asked.
    """
    given = [name for name, is_given in kinds.items() if is_given]
    if len(given) + ask > 1:
        raise click.UsageError("Give one of --accept, --release, --reject and --ask.")
    if ask and not is_terminal():
        raise click.UsageError("--ask needs a terminal, and standard input is not one.")
    return None if ask else _KINDS[given[0] if given else "accept"]
