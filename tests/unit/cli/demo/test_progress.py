import io

import attrs
import pytest
from rich.console import Console

from kafka_groups.cli.demo.progress import LiveProgress, PlainProgress, ProgressView, progress_on

FIGURES: dict[str, int | str | None] = {"published": 2_000, "rate": "12,346/s", "lag": None, "members": 8}
VIEW = ProgressView(elapsed_ms=0, total=336_776, done=1_000, figures=FIGURES)


def test_plain_progress_prints_one_line_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainProgress() as progress:
        for elapsed_ms in (0, 250, 999, 1_000, 1_250):
            progress.show(attrs.evolve(VIEW, elapsed_ms=elapsed_ms, figures=FIGURES | {"lag": elapsed_ms}))
        progress.note("worker 3 killed")
    first, second, note = capsys.readouterr().out.splitlines()
    assert first == "  0.0 s  published 2,000  rate 12,346/s  lag 0  members 8"
    assert second.startswith("  1.0 s")
    assert note == "worker 3 killed"


def test_plain_progress_is_quiet_while_nothing_changes(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainProgress() as progress:
        for elapsed_ms in range(0, 12_000, 500):
            progress.show(attrs.evolve(VIEW, elapsed_ms=elapsed_ms))
    first, second = capsys.readouterr().out.splitlines()
    assert first == "  0.0 s  published 2,000  rate 12,346/s  lag ?  members 8"
    assert second.startswith(" 10.0 s")


def test_live_progress_draws_all_fields() -> None:
    screen = io.StringIO()
    with LiveProgress(Console(file=screen, force_terminal=True, width=100)) as progress:
        progress.show(attrs.evolve(VIEW, figures=FIGURES | {"lag": 42}, rows=[("process 0", "0_1 1_0")]))
        progress.note("worker 3 killed")
    for word in ("12,346/s", "published", "42", "members", "worker 3 killed", "process 0", "0_1 1_0"):
        assert word in screen.getvalue()


def test_terminal_decides_between_the_two() -> None:
    assert isinstance(progress_on(Console(file=io.StringIO(), force_terminal=True)), LiveProgress)
    assert isinstance(progress_on(Console(file=io.StringIO(), force_terminal=False)), PlainProgress)
