"""When a record of a topic with a delay runs, waits, or moves on."""

import pytest
from attrs import evolve, frozen

from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.retry_topics.delay_rules import DelayRules, DelayTurn, deaths_of, forward_from
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopics
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState

S = 1_000
WRITTEN = 1_000_000


@frozen
class Written:
    """A record with a timestamp."""

    timestamp: int | None


def state(due_ms: int) -> RetryState:
    return RetryState(
        group="g",
        handler="h",
        origin=RecordOrigin("orders", 0, 7, 1),
        attempts=1,
        retries=1,
        first_failure_ms=1,
        due_ms=due_ms,
    )


def rules(delay_s: int = 60) -> DelayRules[Written]:
    """Those of a retry topic of 10 s, 1 m and 10 m; records move on from delivery 3."""
    return DelayRules(
        delay_ms=delay_s * S,
        timestamp_of=lambda record: record.timestamp,
        forward_from=3,
        state_of=lambda _: state(0),
        retry_topics=RetryTopics("r", delays=(10, 60, 600)),
    )


def turn(wait_s: float, after_s: float, *, count: int = 1, delay_s: int = 60) -> tuple[DelayTurn, float]:
    """Return what happens to a record that waits for so long, so long after it was written; and when to look again."""
    verdict = rules(delay_s).judge(
        Written(WRITTEN), state(WRITTEN + round(wait_s * S)), count, WRITTEN + round(after_s * S)
    )
    return verdict.turn, (verdict.at_ms - WRITTEN) / S


@pytest.mark.parametrize(
    ("wait_s", "after_s", "count", "expected"),
    [
        (60, 0, 1, (DelayTurn.WAIT, 60)),
        (60, 59.999, 1, (DelayTurn.WAIT, 60)),
        (60, 60, 1, (DelayTurn.RUN, 60)),
        (65, 60, 1, (DelayTurn.REST, 65)),
        (69.999, 60, 1, (DelayTurn.REST, 69.999)),
        (70, 60, 1, (DelayTurn.FORWARD, 60)),
        (700, 60, 1, (DelayTurn.FORWARD, 60)),
        (700, 59, 1, (DelayTurn.WAIT, 60)),
        (60, 0, 2, (DelayTurn.WAIT, 60)),
        (60, 0, 3, (DelayTurn.FORWARD, 0)),
        (60, 50, 3, (DelayTurn.FORWARD, 50)),
        (60, 50.001, 3, (DelayTurn.WAIT, 60)),
        (65, 60, 3, (DelayTurn.REST, 65)),
        (60, 60, 5, (DelayTurn.RUN, 60)),
    ],
)
def test_a_record_waits_rests_moves_on_or_runs(
    wait_s: float, after_s: float, count: int, expected: tuple[DelayTurn, float]
) -> None:
    assert turn(wait_s, after_s, count=count) == expected


def test_a_record_that_was_written_late_runs_when_it_is_due() -> None:
    """Its write was held up for 30 seconds, so its due time comes before the topic's delay is over."""
    assert turn(30, 0) == (DelayTurn.WAIT, 30)
    assert turn(30, 30) == (DelayTurn.RUN, 30)


def test_without_retry_topics_a_record_waits_where_it_is() -> None:
    alone = evolve(rules(600), state_of=None, retry_topics=None)
    for count in (1, 5):
        verdict = alone.judge(Written(WRITTEN), None, count, WRITTEN + 1)
        assert (verdict.turn, verdict.at_ms, verdict.rest_ms) == (DelayTurn.WAIT, WRITTEN + 600 * S, 600 * S - 1)
    assert alone.judge(Written(WRITTEN), None, 1, WRITTEN + 600 * S).turn is DelayTurn.RUN


def test_a_record_without_a_timestamp_may_run_at_once() -> None:
    assert evolve(rules(), state_of=None).judge(Written(None), None, 1, WRITTEN).turn is DelayTurn.RUN


def test_is_over_says_whether_a_record_kept_others_from_being_fetched() -> None:
    topic = rules()
    assert not topic.is_over(Written(WRITTEN), state(WRITTEN + 700 * S), WRITTEN + 59_999)
    assert topic.is_over(Written(WRITTEN), state(WRITTEN + 700 * S), WRITTEN + 60 * S)
    assert topic.is_over(Written(WRITTEN), state(WRITTEN + 1), WRITTEN + 1)


@pytest.mark.parametrize(("limit", "expected"), [(2, 2), (3, 2), (4, 2), (5, 3), (6, 4), (10, 8)])
def test_records_move_on_one_delivery_before_they_would_be_copied(limit: int, expected: int) -> None:
    assert forward_from(DeliveryPolicy(limit)) == expected


@pytest.mark.parametrize(
    ("count", "was_running", "deaths"),
    [(1, False, 0), (3, False, 0), (4, False, 1), (5, False, 2), (1, True, 1), (3, True, 1), (5, True, 2)],
)
def test_deaths_are_known_or_assumed_on_the_last_two_deliveries(count: int, was_running: bool, deaths: int) -> None:
    assert deaths_of(count, DeliveryPolicy(5), was_running=was_running) == deaths
