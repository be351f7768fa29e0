"""The part of a start that the parent of worker processes does itself: set where the group begins."""

import signal
from collections.abc import Sequence
from contextlib import suppress

from kafka_groups.share.workers.group_start import set_group_start
from kafka_groups.share.workers.running.runtime import connection_of
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.share.workers.running.stop_signals import StartInterrupted, StopSignals
from kafka_groups.share.workers.start_option import GroupStart

__all__ = ["begin_group"]


async def begin_group(start: GroupStart, settings: RuntimeSettings, signals: Sequence[signal.Signals]) -> bool:
    """Set where the group begins, before the processes join it. Returns False if a signal has ended that.

    Raises:
        ConfigurationError: The group has another start, or you may not read or set it.
        KafkaGroupsError: No broker answers.
    """
    with StopSignals(signals, lambda: None) as stops, suppress(StartInterrupted), stops.interrupting_awaits():
        await set_group_start(start, *connection_of(settings))
        return True
    return False
