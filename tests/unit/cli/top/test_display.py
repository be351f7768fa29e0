"""Looks are printed again and again: in place on a terminal, below each other elsewhere, as JSON one a line."""

import os
import shutil
from collections.abc import Callable, Sequence

import pytest
from attrs import define, field, frozen

from kafka_groups.cli.top.display import TopDisplay, keep_showing
from kafka_groups.cli.top.looks import TopLook


@frozen
class CountEntry:
    """What a look of the test has seen."""

    number: int


@define
class Counting:
    """A source that counts its looks. Those from a number on fail."""

    fails_from: int = 100
    lines: int = 1
    looked: list[int] = field(factory=list)

    async def look(self) -> TopLook:
        """Look."""
        number = len(self.looked)
        self.looked.append(number)
        return TopLook(self._view(number), [CountEntry(number)], number >= self.fails_from)

    def _view(self, number: int) -> Callable[[int | None], Sequence[str]]:
        return lambda width: [f"look {number} line {line} width {width}" for line in range(self.lines)]


class Stopped(Exception):  # noqa: N818 - what ends an endless command in tests
    """The test has seen enough."""


@define
class Pauses:
    """Pauses that end at once, and the last one with an error."""

    left: int
    seconds: list[float] = field(factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.left -= 1
        if self.left < 0:
            raise Stopped


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 40 columns and 5 lines."""
    monkeypatch.setattr("kafka_groups.cli.top.display.terminal_width", lambda: 40)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((40, 5)))


async def endless(source: Counting, display: TopDisplay, looks: int) -> Pauses:
    pauses = Pauses(looks - 1)
    with pytest.raises(Stopped):
        await keep_showing([source], display, 2.0, pauses)
    return pauses


async def test_looks_stand_below_each_other_with_an_empty_line(capsys: pytest.CaptureFixture[str]) -> None:
    pauses = await endless(Counting(fails_from=1), TopDisplay(as_json=False), 3)
    printed = capsys.readouterr().out
    assert printed == "look 0 line 0 width None\n\nlook 1 line 0 width None\n\nlook 2 line 0 width None\n"
    assert len(pauses.seconds) == 3
    assert all(1.0 < seconds <= 2.0 for seconds in pauses.seconds)


async def test_json_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    await endless(Counting(), TopDisplay(as_json=True), 2)
    assert capsys.readouterr().out == '{"number": 0}\n{"number": 1}\n'


@pytest.mark.parametrize(("fails_from", "failed"), [(1, False), (0, True)])
async def test_one_look_says_whether_it_has_failed(fails_from: int, failed: bool) -> None:
    source = Counting(fails_from)
    assert await keep_showing([source, Counting()], TopDisplay(as_json=False), None, Pauses(0)) is failed
    assert source.looked == [0]


@pytest.mark.usefixtures("terminal")
async def test_on_a_terminal_a_look_replaces_the_one_before(capsys: pytest.CaptureFixture[str]) -> None:
    await endless(Counting(), TopDisplay(as_json=False), 2)
    clear = "\x1b[H\x1b[2J"
    assert capsys.readouterr().out == f"{clear}look 0 line 0 width 40\n{clear}look 1 line 0 width 40\n"


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("lines", "shown", "left_out"), [(4, 4, 0), (5, 3, 2), (100, 3, 97)])
async def test_no_more_lines_are_shown_than_the_terminal_has(
    capsys: pytest.CaptureFixture[str], lines: int, shown: int, left_out: int
) -> None:
    await keep_showing([Counting(lines=lines)], TopDisplay(as_json=False), None, Pauses(0))
    printed = capsys.readouterr().out.splitlines()
    assert len([line for line in printed if "look 0" in line]) == shown
    assert len(printed) <= 4
    assert (f"… (lines left out: {left_out})" in printed) is (left_out > 0)
