"""What an error means for its record: exceeded timeouts, which are not outages unless a rule names them."""

import pickle

import pytest

from kafka_groups.errors import ClosedError, ConcurrentUseError, ConfigurationError, IllegalStateError
from kafka_groups.errors.texts import named
from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.signals import AttemptTimeoutError, ParseError
from kafka_groups.share.workers.rules.failures.verdicts import Again, Decision, FailureRules, OnError, tells_of_sink

TOO_LONG = AttemptTimeoutError(2)


def rules(
    errors: dict[type[Exception], OnError | Backoff] | None = None,
    outages: tuple[type[Exception], ...] = (ConnectionError, TimeoutError),
) -> FailureRules:
    return FailureRules(retries=Backoff(), exhausted=OnError.DEAD_LETTER, errors=errors or {}, outages=outages)


@pytest.mark.parametrize(
    ("outages", "is_outage"),
    [
        ((ConnectionError, TimeoutError), False),
        ((Exception,), False),
        ((), False),
        ((AttemptTimeoutError,), True),
        ((ConnectionError, AttemptTimeoutError), True),
    ],
    ids=["default", "all errors", "none", "named", "named with others"],
)
def test_an_exceeded_timeout_is_an_outage_only_if_it_is_named(
    outages: tuple[type[Exception], ...], *, is_outage: bool
) -> None:
    judged = rules(outages=outages).judge(TOO_LONG)
    assert isinstance(judged, Again)
    assert (judged.is_counted, judged.tells_of_sink) == (not is_outage, True)


def test_a_timeout_of_the_sink_is_an_outage() -> None:
    judged = rules().judge(TimeoutError("the sink does not respond"))
    assert isinstance(judged, Again)
    assert not judged.is_counted


@pytest.mark.parametrize("outages", [(), (ConnectionError,)], ids=["none", "default"])
def test_a_rule_keeps_errors_from_the_breaker_but_outages_do_not(outages: tuple[type[Exception], ...]) -> None:
    error = ConnectionRefusedError("one of many hosts")
    assert tells_of_sink(rules(outages=outages).judge(error))
    assert not tells_of_sink(rules({ConnectionError: Backoff(most=600)}, outages).judge(error))


class WithoutTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_errors_without_a_text_are_judged() -> None:
    error = WithoutTextError()
    reason = "its text cannot be shown, because str() of it raises RuntimeError"
    given_up = Decision(OnError.DEAD_LETTER, f"WithoutTextError: {reason}")
    assert rules().gives_up(error) == given_up
    assert rules({Exception: OnError.DEAD_LETTER}).judge(error) == given_up
    assert rules().judge(ParseError(error)) == Decision(OnError.DEAD_LETTER, f"the value cannot be parsed: {reason}")


@pytest.mark.parametrize("error", [ConfigurationError("index=10"), IllegalStateError(), ConcurrentUseError()])
def test_misuse_of_the_package_in_a_handler_is_no_outage(error: Exception) -> None:
    assert rules().judge(error) == Again(Backoff())
    assert rules({ValueError: OnError.REJECT, RuntimeError: OnError.REJECT}).judge(error) == Decision(
        OnError.REJECT, named(error)
    )


def test_a_client_that_is_closed_may_be_an_outage() -> None:
    assert tells_of_sink(rules().judge(ClosedError()))


@pytest.mark.parametrize("kind", [AttemptTimeoutError, TimeoutError, OSError, Exception])
def test_rules_for_its_bases_match_an_exceeded_timeout(kind: type[Exception]) -> None:
    judged = rules({kind: OnError.REJECT}).judge(TOO_LONG)
    assert judged == Decision(
        OnError.REJECT, "AttemptTimeoutError: the attempt took longer than timeout=2 s and was cancelled"
    )


def test_the_nearest_class_decides_about_an_exceeded_timeout() -> None:
    quick = Backoff(first=0, most=0, times=1)
    both = rules({TimeoutError: OnError.REJECT, AttemptTimeoutError: quick})
    assert both.judge(TOO_LONG) == Again(quick)
    assert isinstance(both.judge(TimeoutError()), Decision)


def test_a_worker_process_can_send_an_exceeded_timeout_to_its_parent() -> None:
    sent = pickle.loads(pickle.dumps(TOO_LONG))
    assert isinstance(sent, AttemptTimeoutError)
    assert (str(sent), sent.seconds) == (str(TOO_LONG), 2)
