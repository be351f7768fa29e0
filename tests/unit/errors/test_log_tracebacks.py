"""Tracebacks in logs are cut for all handlers, and the exceptions are kept."""

import logging

import pytest

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.log_tracebacks import cut_tracebacks, log_end


def test_a_traceback_is_cut_once_and_the_error_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    log, error = logging.getLogger("tests.cut"), ValueError(5_000_000 * "x")
    cut_tracebacks(log)
    cut_tracebacks(log)
    assert len(log.filters) == 1
    log.error("it failed", exc_info=error)
    assert len(caplog.text) < 3_000
    assert caplog.text.endswith("x…\n")
    assert caplog.records[0].exc_info == (ValueError, error, None)


def test_a_line_without_a_traceback_has_none(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("tests.cut")
    cut_tracebacks(log)
    log.error("it failed")
    assert caplog.records[0].exc_text is None


@pytest.mark.parametrize("says_remedy", [True, False])
def test_an_error_that_says_what_to_do_has_no_traceback(caplog: pytest.LogCaptureFixture, *, says_remedy: bool) -> None:
    error = KafkaGroupsError("do this")
    error.says_remedy = says_remedy
    log_end(logging.getLogger("tests.end"), "It ends", error)
    [record] = caplog.records
    assert record.getMessage() == ("It ends: do this" if says_remedy else "It ends")
    assert bool(record.exc_info) is not says_remedy
