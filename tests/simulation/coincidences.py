"""Moments that matter and are rare: counts how often a run hits each of them."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from kafka_groups.broker.coordinators.groups.share.effects import InitializeShareState
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime
from kafka_groups.broker.runtime.share_state.share_persister import SharePersister
from kafka_groups.broker.share_partitions.led_partitions import LedSharePartitions
from kafka_groups.broker.share_partitions.writing import StateWriter
from kafka_groups.errors import CoordinatorNotAvailableError, FencedLeaderEpochError, FencedStateEpochError

COINCIDENCES = (
    "acknowledgement pending when the leader moved",
    "write fenced",
    "write repeated after a lost answer",
    "load interrupted",
    "request waiting at unload",
    "initialisation resumed",
)


@contextmanager
def counted(counts: Counter[str]) -> Iterator[None]:
    """Count coincidences while the block runs."""
    pending, fenced, repeated, interrupted, waiting, resumed = COINCIDENCES

    def dropping(led: LedSharePartitions, key: Any) -> None:
        writer = led._writers.get(key)
        counts[pending] += key in led._loaded and writer is not None and writer.is_busy

    def written(_led: LedSharePartitions, _writer: StateWriter, error: Any) -> None:
        counts[fenced] += isinstance(error, FencedLeaderEpochError | FencedStateEpochError)

    def answered(_persister: SharePersister, _question: Any, _number: int, outcome: Any) -> None:
        lost = isinstance(outcome, CoordinatorNotAvailableError) and "did not answer" in str(outcome)
        counts[repeated] += lost

    def resigning(_runtime: CoordinatorRuntime[Any], led: Any) -> None:
        counts[interrupted] += not led.is_active
        counts[waiting] += bool(led.unanswered or led.parked)

    def loaded(_runtime: CoordinatorRuntime[Any], led: Any) -> None:
        counts[resumed] += any(isinstance(effect, InitializeShareState) for effect in led.outstanding)

    with ExitStack() as stack:
        for owner, name, look in (
            (LedSharePartitions, "drop", dropping),
            (LedSharePartitions, "_written", written),
            (SharePersister, "_answered", answered),
            (CoordinatorRuntime, "_resign", resigning),
            (CoordinatorRuntime, "_activate", loaded),
        ):
            stack.enter_context(patch.object(owner, name, _before(getattr(owner, name), look)))
        yield


def _before(method: Callable[..., Any], look: Callable[..., None]) -> Callable[..., Any]:
    def wrapped(*arguments: Any) -> Any:
        look(*arguments)
        return method(*arguments)

    return wrapped
