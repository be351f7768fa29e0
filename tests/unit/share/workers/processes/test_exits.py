"""What the end of a process means, and the health of all."""

from uuid import UUID

import pytest

from kafka_groups.errors import ConfigurationError, OperationTimeoutError
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.exits import (
    ChildExit,
    ChildState,
    ExitOutcome,
    exit_outcome,
    health_of,
)
from kafka_groups.share.workers.processes.messages import ChildEnded, ChildError
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.types import TopicIdPartition

ORDERS = TopicIdPartition(UUID(int=1), 3, "orders")
IN_ORDER = ChildEnded()
TERMINATED = ChildEnded(was_terminated=True)
MISFIT = ChildEnded(ChildError.of(ConfigurationError("wrong")))
FAILED = ChildEnded(ChildError.of(OperationTimeoutError("too slow")))
GONE, RESTART, STOP, FAIL = ExitOutcome.GONE, ExitOutcome.RESTART, ExitOutcome.STOP, ExitOutcome.FAIL


@pytest.mark.parametrize(
    ("status", "has_started", "words", "is_stopping", "has_any_started", "expected"),
    [
        (-9, True, None, False, True, RESTART),
        (-9, False, None, False, False, RESTART),
        (-9, True, None, True, True, GONE),
        (70, True, IN_ORDER, False, True, RESTART),
        (70, True, IN_ORDER, True, True, GONE),
        (3, True, None, False, True, RESTART),
        (0, True, None, False, True, RESTART),
        (0, True, IN_ORDER, False, True, STOP),
        (0, True, IN_ORDER, True, True, GONE),
        (0, True, TERMINATED, False, True, RESTART),
        (0, True, TERMINATED, True, True, GONE),
        (1, False, None, False, False, FAIL),
        (1, False, None, False, True, RESTART),
        (1, False, FAILED, False, False, FAIL),
        (1, False, FAILED, False, True, RESTART),
        (1, False, FAILED, True, True, GONE),
        (1, False, MISFIT, False, True, FAIL),
        (1, True, FAILED, False, True, FAIL),
        (1, True, FAILED, True, True, FAIL),
    ],
)
def test_the_end_of_a_process_has_a_meaning(
    status: int,
    words: ChildEnded | None,
    expected: ExitOutcome,
    *,
    has_started: bool,
    is_stopping: bool,
    has_any_started: bool,
) -> None:
    ended = ChildExit(2, status, has_started, words)
    assert exit_outcome(ended, is_stopping=is_stopping, has_any_started=has_any_started) is expected


@pytest.mark.parametrize(
    ("status", "words", "said"),
    [
        (-9, None, "process 2 was killed by signal 9 (SIGKILL)"),
        (-77, None, "process 2 was killed by signal 77 (unknown)"),
        (3, None, "process 2 ended with status 3"),
        (0, None, "process 2 ended with status 0"),
        (0, IN_ORDER, "process 2 has ended"),
        (70, IN_ORDER, "process 2 ended with status 70, because an attempt hangs and cannot be stopped,"),
    ],
)
def test_the_log_says_how_a_process_ended(status: int, words: ChildEnded | None, said: str) -> None:
    assert str(ChildExit(2, status, has_started=True, last_words=words)) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "orders-3@0"),
        (2, "orders-3@0, orders-3@1"),
        (7, ", ".join(f"orders-3@{n}" for n in range(5)) + " and 2 more"),
    ],
)
def test_the_log_says_what_a_process_was_running(count: int, said: str) -> None:
    running = [RunningRange(ORDERS, offset, offset) for offset in range(count)]
    assert str(ChildExit(2, 3, True, None, running)) == f"process 2 ended with status 3 while running {said}"


READY, UNREADY = Health(), Health(is_ready=False, reasons=("handler a: the breaker is open (OSError)",))
HUNG = Health(is_live=False, is_ready=False, reasons=("handler a: 1 attempts hang",))


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (ChildState(2, True, READY, 0), Health()),
        (ChildState(2, True, READY, 29_999), Health()),
        (ChildState(2, True, None, 0), Health(True, False, ("process 2: it is starting",))),
        (ChildState(2, False, READY, 99_999), Health(True, False, ("process 2: it is not running",))),
        (ChildState(2, True, UNREADY, 0), Health(True, False, (f"process 2: {UNREADY.reasons[0]}",))),
        (ChildState(2, True, HUNG, 0), Health(False, False, (f"process 2: {HUNG.reasons[0]}",))),
        (ChildState(2, True, READY, 31_000), Health(False, False, ("process 2: it has not reported for 31 s",))),
        (ChildState(2, True, Health(is_ready=False), 0), Health(True, False, ("process 2: it is not ready",))),
    ],
)
def test_the_worker_is_as_healthy_as_its_processes(second: ChildState, expected: Health) -> None:
    assert health_of([ChildState(1, True, READY, 0), second]) == expected
