"""The part of a start that the parent of worker processes does itself: set where the groups begin."""

import signal
from collections.abc import Sequence
from contextlib import suppress

from kafka_groups.share.workers.group_start import set_group_start
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.running.handler_setup import connection_of
from kafka_groups.share.workers.running.members.handler_members import group_starts
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.share.workers.running.stop_signals import StartInterrupted, StopSignals

__all__ = ["begin_groups"]


async def begin_groups(
    settings: RuntimeSettings, specs: Sequence[HandlerSpec], signals: Sequence[signal.Signals]
) -> bool:
    """Set where the groups begin, before the processes join them. Returns False if a signal has ended that.

    Raises:
        ConfigurationError: A group has another start, or you may not read or set it.
        KafkaGroupsError: No broker answers.
    """
    with StopSignals(signals, lambda: None) as stops, suppress(StartInterrupted), stops.interrupting_awaits():
        for start in group_starts(settings.start, specs, settings.group_id):
            await set_group_start(start, *connection_of(settings))
        return True
    return False
