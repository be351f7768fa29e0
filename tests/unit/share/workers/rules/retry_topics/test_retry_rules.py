"""What is written for a record that moves to a retry topic."""

from attrs import define, evolve

from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import AnyRecord, copied_record, delivery_of
from kafka_groups.share.workers.rules.dead_letter_headers import record_id
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopics
from kafka_groups.share.workers.rules.retry_topics.retried_records import RetriedRecord
from kafka_groups.share.workers.rules.retry_topics.retry_headers import own_headers, read_headers
from kafka_groups.share.workers.rules.retry_topics.retry_rules import RetryRules, retry_rules
from kafka_groups.share.workers.rules.steps import OpenRecord
from tests.unit.share.deliveries import acquired, batch, decoded

TOPICS = RetryTopics("r", delays=(10, 60))


@define
class Clocks:
    now: int = 5_000
    wall: int = 1_700_000_005_000

    def now_ms(self) -> int:
        return self.now

    def wall_ms(self) -> int:
        return self.wall


def rules(clocks: Clocks | None = None) -> RetryRules[AnyRecord]:
    return retry_rules(TOPICS, "g", "handle", clocks or Clocks())


def plain() -> AnyRecord:
    (delivery,) = decoded(Decoder(), acquired((4, 4, 1)), batch(4, 4))
    assert isinstance(delivery, DeliveredRecords)
    return next(iter(delivery))


def failed(record: AnyRecord, **state: object) -> OpenRecord[AnyRecord]:
    opened: OpenRecord[AnyRecord] = OpenRecord(record, record_id(record), 1, error=ValueError("no"), **state)  # type: ignore[arg-type]
    return opened


def test_a_record_is_copied_with_its_own_headers_first() -> None:
    record = plain()
    written = rules().moved(failed(record, attempts=2, retries=1, failing_since_ms=4_000), TOPICS.topics[1], 70_000)
    assert (written.topic, written.key, written.value) == ("r.1m", record.raw_key, record.raw_value)
    assert own_headers(written.headers) == record.headers
    assert (written.timestamp_ms, written.partition) == (None, None)
    state = read_headers(written.headers, "g", "handle")
    assert state.origin == RecordOrigin.of(record)
    assert (state.attempts, state.retries, state.error) == (2, 1, "ValueError: no")
    assert (state.first_failure_ms, state.due_ms) == (1_700_000_004_000, 1_700_000_070_000)


def test_counts_go_on_from_topic_to_topic() -> None:
    first = rules().moved(failed(plain(), attempts=2, retries=1, failing_since_ms=4_000), TOPICS.topics[0], 20_000)
    state = evolve(read_headers(first.headers, "g", "handle"), deaths=1, is_possible_duplicate=True)
    record = plain()
    retried = RetriedRecord(copied_record(record).raw, delivery_of(record), state)
    again = failed(retried, attempts=3, retries=2, failing_since_ms=9_000, state=state, deaths=1)
    second = read_headers(rules().moved(again, TOPICS.topics[1], 80_000).headers, "g", "handle")
    assert (second.attempts, second.retries, second.deaths) == (5, 3, 1)
    assert (second.origin, second.first_failure_ms) == (state.origin, state.first_failure_ms)
    assert second.due_ms == 1_700_000_080_000
    assert second.is_possible_duplicate


def test_times_follow_the_clock_of_the_day() -> None:
    clocks = Clocks()
    made = rules(clocks)
    assert made.wall_ms(6_000) == 1_700_000_006_000
    clocks.wall += 3_600_000  # somebody has set it
    assert made.wall_ms(6_000) == 1_700_003_606_000


def test_the_first_failure_may_have_been_before_the_process_began() -> None:
    first = rules().moved(failed(plain(), failing_since_ms=4_000), TOPICS.topics[0], 20_000)
    state = evolve(read_headers(first.headers, "g", "handle"), first_failure_ms=1_699_996_400_000)
    assert rules().failing_since_ms(failed(plain(), state=state), 10_000) == -3_600_000
    assert rules().failing_since_ms(failed(plain()), 10_000) == 10_000


def test_the_time_of_the_last_move_is_that_of_the_broker() -> None:
    first = rules().moved(failed(plain(), failing_since_ms=4_000), TOPICS.topics[0], 20_000)
    state = read_headers(first.headers, "g", "handle")
    record = plain()
    assert rules().moved_here_ms(failed(record), 10_000) is None
    assert record.timestamp is not None
    assert rules().moved_here_ms(failed(record, state=state), 10_000) == record.timestamp - 1_700_000_000_000
