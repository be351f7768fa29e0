"""Prints the records of topics, as a member of a share group."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import click

from kafka_groups.cli.client_keys import client_keys
from kafka_groups.cli.records.group_preparation import prepare_group
from kafka_groups.cli.records.interruption import Interruption
from kafka_groups.cli.records.reading_options import ReadingOptions
from kafka_groups.cli.records.share_printing import SharePrinting
from kafka_groups.cli.records.stopping import run_until_struck, unless_stopped
from kafka_groups.config.clients.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.errors import ConfigurationError
from kafka_groups.net.clock import SystemClock
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.types import AcknowledgeType

__all__ = ["ShareConsuming"]


_FETCH_BYTES: Final = "fetch.max.bytes"
_MOST_FETCHED: Final = 8 * 1024 * 1024
"""Less than the consumer's default, as what is printed is a copy of what was fetched, and JSON may be larger."""


class ShareConsuming:
    """The work of `kafka-groups share-consume`.

    Args:
        options: How to reach the brokers, and what is printed.
        group: The group.
        topics: The topics.
        kind: What is done with records; None: a key decides about each.

    Raises:
        click.UsageError: The configuration is invalid.
    """

    def __init__(
        self, options: ReadingOptions, group: str, topics: Sequence[str], kind: AcknowledgeType | None
    ) -> None:
        self._options = options
        self._group = group
        self._topics = topics
        self._kind = kind
        self._config = _config(options, group, asks=kind is None)

    def __repr__(self) -> str:
        return f"<ShareConsuming of {', '.join(self._topics)} in {self._group}>"

    def run(self, start: str | None) -> bool:
        """Print records. Return whether all went well.

        Args:
            start: Where a new group begins; None leaves it to the brokers.

        Raises:
            click.ClickException: The topics or the group cannot be used, or a signal came before the records that were
                wanted.
            SystemExit: Nobody reads standard output any more. The status is 0.
        """
        with Interruption() as interruption:
            work = partial(self._print, interruption, start)
            return unless_stopped(interruption, work, runs_on=self._options.most is None, stopped=True)

    def _print(self, interruption: Interruption, start: str | None) -> bool:
        timeout_ms = self._options.connection.timeout_ms
        preparation = prepare_group(self._config, self._group, self._topics, start, timeout_ms)
        run_until_struck(interruption, preparation)
        with KafkaShareConsumer(self._config) as consumer:
            interruption.on_strike = consumer.wakeup
            consumer.subscribe(self._topics)
            printing = SharePrinting(consumer, self._options, self._kind, interruption, SystemClock())
            printing.run()
        if printing.shortage is not None:
            click.echo(printing.shortage, err=True)
        return printing.shortage is None and not printing.failed


def _config(reading: ReadingOptions, group: str, *, asks: bool) -> ShareConsumerConfig:
    connection = reading.connection
    keys = {_FETCH_BYTES: _MOST_FETCHED, **client_keys(connection.config, connection.bootstrap_servers)}
    own: dict[str, object] = {
        "group.id": group,
        "share.acknowledgement.mode": "explicit",
        "default.api.timeout.ms": connection.timeout_ms,
    }
    if asks or reading.most is not None:
        # Nothing more than what is wanted is acquired, as each delivery counts: see also `SharePrinting`.
        own["prefetch.batches"] = 0
    if asks:
        own["auto.renew"] = True
    try:
        return share_consumer_config({**keys, **own})
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
