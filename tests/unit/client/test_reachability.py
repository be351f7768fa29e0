"""When an application is told that no broker can be reached, and what it is told."""

from kafka_groups.client.reachability import Reachability
from kafka_groups.errors import (
    BootstrapError,
    KafkaGroupsError,
    NetworkError,
    OperationTimeoutError,
    SaslAuthenticationFailedError,
    TlsError,
    WrongProtocolError,
)

ONE, TWO = ("one", 9092), ("two", 9092)
BOTH = (ONE, TWO)


def failed(way: Reachability, *addresses: tuple[str, int], error: KafkaGroupsError, now_ms: int) -> None:
    for address in addresses:
        way.failed(address, error, now_ms, another_works=False)


def test_a_client_that_never_reached_a_broker_is_told_after_the_timeout_and_again_after_another() -> None:
    way = Reachability(60_000)
    failed(way, ONE, TWO, error=NetworkError("refused"), now_ms=1_000)
    assert way.take_error(BOTH, 60_999) is None
    assert way.remaining_ms(60_999) == 1
    told = way.take_error(BOTH, 61_000)
    assert isinstance(told, BootstrapError)
    assert "60000 ms. refused" in str(told)
    assert way.take_error(BOTH, 120_999) is None
    assert isinstance(way.take_error(BOTH, 121_000), BootstrapError)


def test_a_client_that_has_worked_keeps_trying_for_ever() -> None:
    way = Reachability(60_000)
    way.answered(ONE, 500)
    failed(way, ONE, TWO, error=NetworkError("refused"), now_ms=1_000)
    assert way.unreachable_since_ms == 1_000
    assert way.take_error(BOTH, 100_000_000) is None
    assert way.remaining_ms(2_000) is None
    assert way.last_answer_ms == 500
    way.answered(TWO, 5_000)
    assert (way.last_answer_ms, way.remaining_ms(5_000)) == (5_000, None)
    failed(way, ONE, error=NetworkError("refused"), now_ms=6_000)
    assert way.unreachable_since_ms == 6_000


def test_a_certain_error_is_told_as_soon_as_every_broker_has_been_tried() -> None:
    for error in (TlsError("not trusted"), WrongProtocolError("HTTP"), SaslAuthenticationFailedError("no")):
        way = Reachability(60_000)
        failed(way, ONE, error=error, now_ms=1_000)
        assert way.take_error(BOTH, 1_000) is None
        failed(way, TWO, error=NetworkError("refused"), now_ms=1_010)
        assert way.take_error(BOTH, 1_010) is error
        assert way.take_error(BOTH, 1_020) is None  # told once, until it fails again
        failed(way, ONE, error=error, now_ms=1_500)
        assert way.take_error(BOTH, 1_500) is error


def test_a_certain_error_ends_the_wait_of_a_client_that_has_worked() -> None:
    way, error = Reachability(60_000), TlsError("expired")
    way.answered(ONE, 500)
    failed(way, ONE, error=error, now_ms=1_000)
    assert way.take_error((ONE,), 1_000) is error


def test_a_likely_reason_is_told_after_ten_seconds_and_never_to_a_client_that_has_worked() -> None:
    error = WrongProtocolError("probably TLS", is_certain=False)
    for has_worked in (False, True):
        way = Reachability(60_000)
        if has_worked:
            way.answered(ONE, 500)
        for now_ms in (1_000, 2_000, 3_000):
            failed(way, ONE, error=error, now_ms=now_ms)
        assert way.take_error((ONE,), 10_999) is None
        assert way.take_error((ONE,), 11_000) is (None if has_worked else error)


def test_a_time_out_does_not_hide_a_likely_reason_but_another_error_does() -> None:
    likely, timeout = WrongProtocolError("probably TLS", is_certain=False), OperationTimeoutError("within 500 ms")
    for last, told in ((timeout, likely), (NetworkError("refused"), None)):
        way = Reachability(60_000)
        for now_ms, error in ((1_000, likely), (2_000, timeout), (3_000, last)):
            failed(way, ONE, error=error, now_ms=now_ms)
        assert way.take_error((ONE,), 11_000) is told


def test_a_server_that_is_started_again_and_dies_once_more_is_not_suspect() -> None:
    """A broker that is killed while a client starts: it refuses connections, takes one, and is gone again."""
    closed, refused = WrongProtocolError("probably TLS", is_certain=False), NetworkError("refused")
    way = Reachability(60_000)
    for now_ms, error in ((0, refused), (15_000, refused), (20_000, closed), (20_500, refused)):
        failed(way, ONE, error=error, now_ms=now_ms)
        assert way.take_error((ONE,), now_ms) is None
    failed(way, ONE, error=closed, now_ms=30_000)
    assert way.take_error((ONE,), 30_000) is None
    assert way.remaining_ms(30_000) == 10_000
    failed(way, ONE, error=closed, now_ms=39_999)
    assert way.take_error((ONE,), 39_999) is None
    assert way.take_error((ONE,), 40_000) is closed


def test_a_broker_among_others_that_work_is_not_the_applications_matter() -> None:
    way = Reachability(60_000)
    way.answered(ONE, 500)
    way.failed(TWO, TlsError("expired"), 1_000, another_works=True)
    assert way.unreachable_since_ms is None
    assert way.take_error(BOTH, 1_000) is None


def test_a_first_attempt_that_does_not_end_is_told_in_time_and_how_far_it_is() -> None:
    way = Reachability(4_000)
    assert way.take_error((ONE,), 1_000) is None
    way.trying(ONE, "Could not connect to one:9092 yet.", 1_000)
    way.trying(ONE, "one:9092 accepted the connection but did not answer.", 1_200)
    assert (way.may_report, way.remaining_ms(1_200)) == (True, 3_800)
    assert way.take_error((ONE,), 4_999) is None
    told = way.take_error((ONE,), 5_000)
    assert str(told) == "No broker has answered for 4000 ms. one:9092 accepted the connection but did not answer."
    assert way.unreachable_since_ms == 1_000
    assert way.take_error((ONE,), 8_999) is None
    assert isinstance(way.take_error((ONE,), 9_000), BootstrapError)


def test_the_summary_is_made_of_whole_sentences() -> None:
    way = Reachability(4_000)
    way.trying(ONE, "Could not connect to one:9092 yet.", 1_000)
    way.trying(TWO, "Could not connect to two:9092 yet.", 1_000)
    failed(way, ONE, error=NetworkError("refused"), now_ms=1_100)
    assert way.summary() == "refused. Could not connect to two:9092 yet."


def test_a_client_that_has_worked_is_not_told_of_attempts() -> None:
    way = Reachability(4_000)
    way.trying(ONE, "Could not connect to one:9092 yet.", 1_000)
    way.answered(ONE, 1_100)
    way.trying(TWO, "Could not connect to two:9092 yet.", 2_000)
    assert not way.may_report
    assert way.remaining_ms(2_000) is None
    assert way.take_error(BOTH, 100_000) is None
