"""Definitions of windows: which windows a time is in, and durations that are refused."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.errors import ConfigurationError
from kafka_groups.serdes import Window
from kafka_groups.streams import (
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

ZERO, SECOND = timedelta(0), timedelta(seconds=1)


def test_a_time_is_in_one_tumbling_window() -> None:
    windows = TimeWindows(SECOND, grace=ZERO)
    assert list(windows.windows_for(0)) == [(0, 1000)]
    assert list(windows.windows_for(999)) == [(0, 1000)]
    assert list(windows.windows_for(1000)) == [(1000, 2000)]


def test_a_time_is_in_several_hopping_windows_and_none_starts_before_1970() -> None:
    windows = TimeWindows(SECOND, advance=timedelta(milliseconds=400), grace=ZERO)
    assert list(windows.windows_for(399)) == [(0, 1000)]
    assert list(windows.windows_for(1300)) == [(400, 1400), (800, 1800), (1200, 2200)]


def test_an_unlimited_window_has_all_times_from_its_start() -> None:
    windows = UnlimitedWindows(start_ms=50)
    assert list(windows.windows_for(49)) == []
    assert list(windows.windows_for(50)) == [(50, 2**63 - 1)]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 300))
def test_times_between_two_points_of_the_grid_have_the_same_windows(
    first_ms: int, second_ms: int, time_ms: int
) -> None:
    advance, size = (timedelta(milliseconds=each) for each in sorted((first_ms, second_ms)))
    for windows in (TimeWindows(size, advance=advance, grace=ZERO), UnlimitedWindows(start_ms=first_ms)):
        begin_ms = time_ms // windows.grid_ms * windows.grid_ms
        assert windows.windows_for(begin_ms) == windows.windows_for(time_ms)


def test_the_grid_of_tumbling_windows_is_their_size_and_that_of_a_program_s_own_is_unknown() -> None:
    class Own(TimeWindows):
        def windows_for(self, timestamp_ms: int) -> list[Window]:
            return [Window(timestamp_ms, timestamp_ms + 1)]

    assert TimeWindows(SECOND, grace=ZERO).grid_ms == 1000
    assert Own(SECOND, grace=ZERO).grid_ms == 1
    assert UnlimitedWindows().grid_ms == 2**63 - 1


@pytest.mark.parametrize("make", [
    lambda duration: TimeWindows(duration, grace=ZERO),
    lambda duration: TimeWindows(SECOND, grace=duration),
    lambda duration: TimeWindows(SECOND, advance=duration, grace=ZERO),
    lambda duration: SlidingWindows(duration, grace=ZERO),
    lambda duration: SlidingWindows(SECOND, grace=duration),
    lambda duration: SessionWindows(duration, grace=ZERO),
    lambda duration: SessionWindows(SECOND, grace=duration),
    lambda duration: JoinWindows(before=SECOND, after=SECOND, grace=duration),
])  # fmt: skip
@pytest.mark.parametrize("duration", [timedelta(milliseconds=-1), 1000, 1.5, "1s", timedelta(microseconds=1500)])
def test_other_durations_are_refused(make: Callable[[Any], object], duration: object) -> None:
    with pytest.raises(ConfigurationError, match=r"(size|advance|difference|gap|grace)=.* (Give|Round)"):
        make(duration)


def test_windows_of_no_length_and_gaps_between_windows_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"size=.* too short"):
        TimeWindows(ZERO, grace=ZERO)
    with pytest.raises(ConfigurationError, match=r"advance=.* longer than the windows"):
        TimeWindows(SECOND, advance=2 * SECOND, grace=ZERO)
    with pytest.raises(ConfigurationError, match="start_ms=-1"):
        UnlimitedWindows(start_ms=-1)


@pytest.mark.parametrize("duration", [-2 * SECOND, 1000, timedelta(microseconds=1500)])
def test_join_windows_take_negative_durations_that_leave_time_between_them(duration: Any) -> None:
    assert JoinWindows(before=-SECOND, after=SECOND, grace=ZERO).size_ms == 0
    with pytest.raises(ConfigurationError, match=r"before=.*(Give|Round)"):
        JoinWindows(before=duration, after=SECOND, grace=ZERO)
    with pytest.raises(ConfigurationError, match=r"after=.*(Give|Round)"):
        JoinWindows(before=SECOND, after=duration, grace=ZERO)


def test_they_show_their_numbers() -> None:
    join_windows = JoinWindows(before=SECOND, after=ZERO, grace=ZERO)
    assert repr(join_windows) == "<JoinWindows from 1000 ms before to 0 ms after, grace 0 ms>"
    assert repr(TimeWindows(SECOND, grace=ZERO)) == "<TimeWindows of 1000 ms every 1000 ms, grace 0 ms>"
    assert repr(SlidingWindows(SECOND, grace=ZERO)) == "<SlidingWindows of 1000 ms, grace 0 ms>"
    assert repr(SessionWindows(SECOND, grace=SECOND)) == "<SessionWindows with gaps of 1000 ms, grace 1000 ms>"
    assert repr(UnlimitedWindows()) == "<UnlimitedWindows from 0>"
    assert repr(EmitStrategy.on_window_close()) == "EmitStrategy.on_window_close()"


@pytest.mark.parametrize("kind", [TimeWindows, SlidingWindows, SessionWindows])
def test_a_number_instead_of_a_duration_is_refused_with_all_that_is_wrong(kind: Any) -> None:
    told = r"^\w+=5 is not a duration\. Give a timedelta, such as timedelta\(seconds=5\)\."
    with pytest.raises(ConfigurationError, match=f"{told}$"):
        kind(5, grace=ZERO)
    with pytest.raises(TypeError, match=rf"{told} {kind.__name__} needs grace=\. Give the time .*=timedelta\(0\)\.$"):
        kind(5)


@pytest.mark.parametrize(("given", "example"), [(0, 30), (-5, 30), (True, 30), ("5", 30), (2.5, 30), (90, 90)])
def test_the_example_of_a_duration_has_the_number_that_was_given(given: Any, example: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"such as timedelta\(seconds={example}\)\.$"):
        TimeWindows(given, grace=ZERO)


def test_windows_without_a_grace_are_refused() -> None:
    make: Any = JoinWindows
    with pytest.raises(TypeError, match=r"^JoinWindows needs grace=\. "):
        make(before=SECOND, after=SECOND)
    make = TimeWindows
    with pytest.raises(TypeError, match=r"missing 1 required .*'size'"):
        make(grace=ZERO)


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        (JoinWindows, (5,), "got 1 argument without a name and takes 0.*: before=, after=, grace=$"),
        (TimeWindows, (SECOND, SECOND), "got 2 arguments without a name and takes 1.*: advance=, grace=$"),
        (SessionWindows, (SECOND, ZERO), "got 2 arguments without a name and takes 1.*: grace=$"),
    ],
)
def test_durations_without_their_names_are_refused(kind: Any, given: tuple[object, ...], told: str) -> None:
    with pytest.raises(TypeError, match=f"^{kind.__name__} {told}"):
        kind(*given)
