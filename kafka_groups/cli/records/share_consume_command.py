"""`kafka-groups share-consume`: records of topics, as a member of a share group."""

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import click

from kafka_groups.cli.client_keys import client_keys
from kafka_groups.cli.consent import is_terminal
from kafka_groups.cli.key_value import refuse_repeated
from kafka_groups.cli.records.group_preparation import prepare_group
from kafka_groups.cli.records.interruption import Interruption
from kafka_groups.cli.records.named_topics import checked_topic
from kafka_groups.cli.records.reading_options import ReadingOptions, reading_options
from kafka_groups.cli.records.share_printing import MOST_AT_ONCE, SharePrinting
from kafka_groups.cli.records.stopping import run_until_struck, stopped_by_signals
from kafka_groups.config.clients.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.errors import ConfigurationError
from kafka_groups.net.clock import SystemClock
from kafka_groups.share.consumer import KafkaShareConsumer
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
    config = _config(reading, group, asks=kind is None)
    with Interruption() as interruption, stopped_by_signals(interruption, runs_on=reading.most is None):
        preparation = prepare_group(config, group, names, start, reading.connection.timeout_ms)
        run_until_struck(interruption, preparation)
        _print(config, names, reading, kind, interruption)


def _print(
    config: ShareConsumerConfig,
    topics: Sequence[str],
    reading: ReadingOptions,
    kind: AcknowledgeType | None,
    interruption: Interruption,
) -> None:
    with KafkaShareConsumer(config) as consumer:
        interruption.on_strike = consumer.wakeup
        consumer.subscribe(topics)
        printing = SharePrinting(consumer, reading, kind, interruption, SystemClock())
        printing.run()
    if printing.shortage is not None:
        click.echo(printing.shortage, err=True)
    if printing.shortage is not None or printing.failed:
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


def _config(reading: ReadingOptions, group: str, *, asks: bool) -> ShareConsumerConfig:
    connection = reading.connection
    keys = client_keys(connection.config, connection.bootstrap_servers)
    own: dict[str, object] = {
        "group.id": group,
        "share.acknowledgement.mode": "explicit",
        "default.api.timeout.ms": connection.timeout_ms,
    }
    if asks or reading.most is not None:
        # Nothing more than what is wanted is acquired: each delivery counts.
        most = 1 if asks else min(reading.most or 1, MOST_AT_ONCE)
        own |= {"share.acquire.mode": "record_limit", "max.poll.records": most, "prefetch.batches": 0}
    if asks:
        own["auto.renew"] = True
    try:
        return share_consumer_config({**keys, **own})
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
