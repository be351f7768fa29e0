"""Reads lines and writes their records, until the input ends or a line fails."""

import select
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from attrs import frozen

from kafka_groups.admin.rules.config_questions import describe_topic_configs
from kafka_groups.cli.admin.connection import BrokerChoice
from kafka_groups.cli.quiet_clients import quiet_clients
from kafka_groups.cli.records.existing_topics import existing_partitions
from kafka_groups.cli.records.input_lines import InputLine, InputLines, LineTooLongError, Read
from kafka_groups.cli.records.interruption import Interruption
from kafka_groups.cli.records.line_records import LineForm
from kafka_groups.cli.records.line_writer import LineWriter, RefusedLine
from kafka_groups.cli.records.named_topics import NamedTopic
from kafka_groups.cli.records.stopping import run_until_struck, unless_stopped
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import AdminClient, admin_client
from kafka_groups.client.principals import principal_of
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import KafkaGroupsError, MessageTooLargeError
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.net.clock import SystemClock
from kafka_groups.records.confirmed_writer import ConfirmedWriter
from kafka_groups.records.producing.refusal_texts import not_writable

__all__ = ["produced_from"]

_LOOK_S: Final = 0.5
_LIMIT: Final = "max.message.bytes"


@frozen
class LineSource:
    """The input of the command.

    Attributes:
        name: Its name in messages.
        read: Reads from it.
        wait: Waits until there is something to read, if others have made it a file that does not wait by itself.
    """

    name: str
    read: Read
    wait: Callable[[], object]

    @classmethod
    def opened(cls, path: Path | None, stack: ExitStack) -> "LineSource":
        """Return a file, which the stack closes, or standard input. Nothing is read."""
        if path is None or str(path) == "-":
            # Not through Python's buffer: its lock would be held by a thread that waits when the program ends.
            stream: Any = sys.stdin.buffer
            stream = getattr(stream, "raw", stream)
            return cls("standard input", stream.read, lambda: select.select([stream], [], []))
        file = stack.enter_context(path.open("rb", buffering=0))
        return cls(str(path), file.read, lambda: None)


def produced_from(path: Path | None, form: LineForm, connection: BrokerChoice) -> tuple[int, str | None]:
    """Write the records of a file or of standard input. Return how many were written, and a text if a line failed.

    Raises:
        click.ClickException: The topic does not exist, the brokers cannot be used, or a signal came.
    """
    with ExitStack() as stack:
        source = LineSource.opened(path, stack)
        work = Producing(connection.client_config(), connection.timeout_ms, form, source)
        interruption = stack.enter_context(Interruption())
        stack.enter_context(quiet_clients())
        try:
            problem = unless_stopped(
                interruption, lambda: run_until_struck(interruption, work.run()), runs_on=False, stopped=None
            )
        finally:
            if interruption.has_struck:
                click.echo(f"{counted(work.count, 'record')} written", err=True)
        return work.count, problem


class Producing:
    """Writes the records of lines.

    Args:
        config: How to reach the brokers.
        timeout_ms: The longest wait for an answer or a confirmation.
        form: The form of lines.
        source: The lines.

    Attributes:
        count: The number of records that are confirmed.
    """

    def __init__(self, config: ClientConfig, timeout_ms: int, form: LineForm, source: LineSource) -> None:
        self._config = config
        self._timeout_ms = timeout_ms
        self._form = form
        self._source = source
        self._principal = principal_of(config)
        self._writer: LineWriter | None = None

    def __repr__(self) -> str:
        return f"<Producing from {self._source.name} to {self._form.topic}>"

    @property
    def count(self) -> int:
        """The number of records that are confirmed."""
        return 0 if self._writer is None else self._writer.count

    async def run(self) -> str | None:
        """Write all records. Return the text about the line that failed, or None.

        Raises:
            KafkaGroupsError: The topic does not exist, or the brokers cannot be used. Nothing was read.
        """
        async with AsyncExitStack() as stack:
            admin = admin_client(self._config, Environment())
            stack.push_async_callback(admin.close)
            await self._check_topic(admin)
            writer = ConfirmedWriter(self._config, principal=self._principal)
            stack.push_async_callback(writer.close)
            self._writer = LineWriter(writer, SystemClock(), self._timeout_ms)
            reason = await self._write_all(self._writer)
            return await self._problem(self._writer, reason, admin)

    async def _check_topic(self, admin: AdminClient) -> None:
        partitions = None if self._form.partition is None else (self._form.partition,)
        denied = partial(not_writable, principal=self._principal)
        topic = NamedTopic(self._form.topic, partitions)
        await existing_partitions(admin.within(self._timeout_ms), [topic], denied)

    async def _write_all(self, writer: LineWriter) -> str | None:
        """Write what the input has. Return the text about a line that is invalid, or None."""
        lines = InputLines(self._source.read, self._source.wait)
        reason: str | None = None
        try:
            while writer.refused is None and (found := await lines.next(_LOOK_S)) is not None:
                await self._write(found, writer)
                writer.look()
        except (LineTooLongError, OSError) as error:
            reason = f"{self._source.name}: {error}"
        except _InvalidLineError as error:
            reason = f"{self._source.name}, line {error.number}: {error}"
        await writer.finish()
        return reason

    async def _write(self, lines: Sequence[InputLine], writer: LineWriter) -> None:
        for number, data in lines:
            try:
                record = self._form.record(data)
            except ValueError as error:
                raise _InvalidLineError(number, str(error)) from error
            if record is not None:
                await writer.write(number, record)

    # --------------------------------------------------------------------------------------- failures

    async def _problem(self, writer: LineWriter, reason: str | None, admin: AdminClient) -> str | None:
        if writer.refused is not None:
            reason = await self._refusal(writer.refused, admin)
        if reason is None:
            return None
        return sentences(reason, f"{counted(writer.count, 'record')} {'was' if writer.count == 1 else 'were'} written")

    async def _refusal(self, refused: RefusedLine, admin: AdminClient) -> str:
        text = str(refused.error)
        if isinstance(refused.error, MessageTooLargeError):
            text = await self._too_large(refused, admin) or text
        doubt = "It may be written nevertheless" if refused.may_be_written else ""
        return sentences(f"{self._source.name}, line {refused.line.number}: {text}", doubt)

    async def _too_large(self, refused: RefusedLine, admin: AdminClient) -> str | None:
        """Return the text about a record that is larger than the topic allows; None if its limit is not known."""
        topic = self._form.topic
        try:
            configs = (await describe_topic_configs(admin.within(self._timeout_ms), [topic]))[topic]
        except KafkaGroupsError:
            return None  # the broker's own answer has to do, as when the right to read configs is missing
        limit = int(configs.get(_LIMIT) or 0)
        size = refused.line.record.size_bytes
        return (
            f"the record has {size:,} bytes, and topic {topic} takes {limit:,} ({_LIMIT}, with some bytes for the"
            f" batch). Make the record smaller, or allow larger ones: kafka-groups topics configs {topic} --set"
            f" {_LIMIT}={size + _OVERHEAD}"
        )


_OVERHEAD: Final = 1_024
"""More than a batch of one record adds, apart from its headers."""


class _InvalidLineError(Exception):
    """A line does not have the form."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.number = number
