"""What the guard concludes, who is measured when, and that its rows exist; only the last tests measure."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.benchmarks.guard.broker_parts import Extent
from tests.benchmarks.guard.checkouts import ROOT, Checkouts, guarded_commits
from tests.benchmarks.guard.command import PARTS, needs_of, parts_of
from tests.benchmarks.guard.command_parts import arguments_of
from tests.benchmarks.guard.figures import (
    NOW,
    THEN,
    Case,
    Compared,
    Row,
    as_json,
    exit_status,
    figure_at,
    guard_table,
)
from tests.benchmarks.guard.turns import Measure, MissingError, Pace, Part, compare_part, order_of
from tests.benchmarks.main import main

RATE, COST = Row("rate", "records/s", ("rate",)), Row("cost", "s", ("cost",), is_cost=True)
LEAST = 0.93


def compared(now: list[float], then: list[float], row: Row = RATE) -> Compared:
    return Compared(row, {NOW: now, THEN: then})


def part_of(measure: Measure, *cases: Case) -> Part:
    @contextmanager
    def opened() -> Iterator[Measure]:
        yield measure

    return Part("made up", cases, opened)


def measured(measure: Measure, *rows: Row, rounds: int = 2, least: float = LEAST) -> list[Compared]:
    return compare_part(part_of(measure, Case(rows or (RATE,), rounds)), Pace(least), lambda _line: None)


# ------------------------------------------------------------------------------------------- conclusions


@pytest.mark.parametrize(("row", "ratio"), [(RATE, 2.0), (COST, 0.5)])
def test_more_than_one_is_better_whatever_the_unit(row: Row, ratio: float) -> None:
    assert compared([2.0], [1.0], row).ratio == ratio


@pytest.mark.parametrize("row", [RATE, COST])
def test_worse_half_of_the_rounds_does_not_count(row: Row) -> None:
    """What else the machine did can only have made them worse."""
    worse = 10.0 if row is RATE else 1_000.0
    assert compared([100, worse, 102, worse], [102, 100, worse, worse], row).ratio == 1.0
    assert compared([worse, worse, worse, 100], [100, 100, 100, 100], row).ratio != 1.0


@pytest.mark.parametrize(("now", "status"), [(0.94, 0), (0.92, 1)])
def test_exit_status_says_whether_a_ratio_is_too_low(now: float, status: int) -> None:
    assert exit_status([compared([1.0], [1.0]), compared([now], [1.0])], LEAST) == status
    assert exit_status([compared([now], [1.0])], 0.5) == 0


def test_row_that_a_version_lacks_is_shown_and_does_not_fail() -> None:
    missing = Compared(RATE, {NOW: [435.0], THEN: []}, lacking={THEN})
    assert exit_status([missing], LEAST) == 0
    shown = text_of([missing])
    assert "missing" in shown
    assert "435" in shown


def test_row_that_failed_fails_the_whole_and_is_shown() -> None:
    failed = Compared(RATE, {NOW: [1.0], THEN: [1.0]}, error="it ended")
    assert failed.ratio is None
    assert exit_status([failed], LEAST) == 1
    assert "ERROR" in text_of([failed])


def test_table_marks_what_is_worse() -> None:
    shown = text_of([compared([0.5, 0.6], [1.0, 1.0])])
    assert "WORSE" in shown
    assert "0.50 to 0.60" in shown
    assert "WORSE" not in text_of([compared([1.0], [1.0])])


def test_everything_can_be_written_as_json() -> None:
    (row,) = json.loads(json.dumps(as_json([Compared(COST, {NOW: [2.0], THEN: [1.0]})])))
    assert row["ratio"] == 0.5
    assert row["figures"] == {NOW: [2.0], THEN: [1.0]}


def text_of(rows: list[Compared]) -> str:
    console = Console(width=160, no_color=True)
    with console.capture() as capture:
        console.print(guard_table(rows, "0123abc", LEAST))
    return capture.get()


@pytest.mark.parametrize(
    ("path", "figure"), [(("a", "1", "s"), 5.0), (("a", "0"), 1.0), (("a", "2"), None), (("b",), None)]
)
def test_figures_are_found_by_a_path(path: tuple[str, ...], figure: float | None) -> None:
    assert figure_at({"a": [1, {"s": {"first": 2, "then": 3}}]}, path) == figure


# ------------------------------------------------------------------------------------------------- turns


def test_versions_take_turns_and_who_goes_first_changes() -> None:
    order = []

    def measure(_case: Case, version: str) -> Mapping[str, Any]:
        order.append(version)
        return {"rate": 1.0}

    (row,) = measured(measure, rounds=4)
    assert order == [NOW, THEN, THEN, NOW] * 2
    assert len(row.ratios) == 4
    assert list(order_of(0)) == list(order_of(2))


def test_row_that_is_too_low_gets_as_many_rounds_again() -> None:
    figures = {NOW: iter([0.8, 0.9, 1.0, 1.0]), THEN: iter([1.0] * 4)}
    (row,) = measured(lambda _case, version: {"rate": next(figures[version])}, rounds=2)
    assert row.ratios == [0.8, 0.9, 1.0, 1.0]
    assert row.ratio == 1.0


def test_more_rounds_take_no_more_time_than_there_is() -> None:
    """Two cases are too low; a second passes with each measurement, and the first case's more rounds use up all."""
    seconds = iter(range(1_000))
    now_s = 0

    def measure(_case: Case, version: str) -> Mapping[str, Any]:
        nonlocal now_s
        now_s = next(seconds)
        return {"rate": 0.5 if version == NOW else 1.0}

    pace = Pace(LEAST, more_s=4.0, clock=lambda: now_s)
    first, second = compare_part(part_of(measure, Case((RATE,), 2), Case((RATE,), 2)), pace, lambda _line: None)
    assert (len(first.ratios), len(second.ratios)) == (4, 2)
    assert pace.more_s == 0


def test_case_that_a_version_lacks_is_measured_once_in_the_other() -> None:
    def measure(_case: Case, version: str) -> Mapping[str, Any]:
        if version == THEN:
            raise MissingError("no such program")
        return {"rate": 2.0, "cost": 1.0}

    rows = measured(measure, RATE, COST)
    assert [row.lacking for row in rows] == [{THEN}, {THEN}]
    assert [row.taken[NOW] for row in rows] == [[2.0], [1.0]]


def test_figure_that_a_version_does_not_write_is_missing() -> None:
    rows = measured(lambda _case, version: {"rate": 1.0, **({"cost": 1.0} if version == NOW else {})}, RATE, COST)
    assert [row.lacking for row in rows] == [set(), {THEN}]
    assert [len(row.ratios) for row in rows] == [2, 0]


@pytest.mark.parametrize("lacks", [False, True])
def test_rounds_that_warm_up_do_not_count(lacks: bool) -> None:
    runs = []

    def measure(_case: Case, version: str) -> Mapping[str, Any]:
        if lacks and version == THEN:
            raise MissingError("no such program")
        runs.append(version)
        return {"rate": float(len(runs))}

    case = Case((RATE,), 1, warm_up_rounds=1)
    (row,) = compare_part(part_of(measure, case), Pace(0.0), lambda _line: None)
    assert row.taken == ({NOW: [2.0], THEN: []} if lacks else {NOW: [3.0], THEN: [4.0]})
    assert row.lacking == ({THEN} if lacks else set())


def test_case_that_fails_does_not_keep_others_from_being_measured() -> None:
    def measure(case: Case, _version: str) -> Mapping[str, Any]:
        if case.rows == (COST,):
            raise ValueError("the end of its output")
        return {"rate": 1.0}

    part = part_of(measure, Case((COST,), 1), Case((RATE,), 1))
    failed, measured_one = compare_part(part, Pace(LEAST), lambda _line: None)
    assert failed.error.startswith("now: Traceback")
    assert failed.error.endswith("ValueError: the end of its output")
    assert measured_one.ratio == 1.0


def test_part_that_cannot_start_is_an_error_of_each_of_its_rows() -> None:
    @contextmanager
    def opened() -> Iterator[Measure]:
        if part_name:
            raise OSError("no Java")
        yield lambda _case, _version: {}

    part_name = "made up"

    rows = compare_part(Part(part_name, (Case((RATE, COST), 1),), opened), Pace(LEAST), lambda _line: None)
    assert [row.error.splitlines()[-1] for row in rows] == ["OSError: no Java"] * 2


# -------------------------------------------------------------------------------------------------- rows


@pytest.fixture
def parts() -> list[Part]:
    return parts_of(Checkouts({}, Path()), Extent())


def test_row_names_differ(parts: list[Part]) -> None:
    names = [row.name for part in parts for case in part.cases for row in case.rows]
    assert len(names) == len(set(names))
    assert len({part.name for part in parts}) == len(PARTS)


def test_this_checkout_has_all_that_the_rows_need(parts: list[Part]) -> None:
    """Otherwise a row would be missing for ever, and nobody would notice."""
    for need in needs_of(parts):
        module, _, name = need.partition(":")
        assert hasattr(__import__(module, fromlist=[name]), name), need


def test_commands_of_the_rows_are_valid(parts: list[Part]) -> None:
    commands = [case for part in parts for case in part.cases if case.arguments[0] in main.commands]
    assert {case.arguments[0] for case in commands} >= {"arrow", "assignors", "coordinators", "memory", "streams"}
    for case in commands:
        name, *arguments = arguments_of(case, Extent(1e-3))
        main.commands[name].make_context(name, arguments)


def test_counts_of_a_command_are_scaled_but_not_below_the_least() -> None:
    case = Case((RATE,), 1, ("arrow", "--records={1000:200}", "--fraction={0.5:0.1}", "--rounds=3"))
    assert arguments_of(case, Extent(0.5)) == ["arrow", "--records=500", "--fraction=0.25", "--rounds=3"]
    assert arguments_of(case, Extent(0.1)) == ["arrow", "--records=200", "--fraction=0.1", "--rounds=3"]


def test_page_names_a_commit_for_each_part() -> None:
    commits = guarded_commits((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"), PARTS)
    assert set(commits) == set(PARTS)
    assert all(len(commit) >= 7 and int(commit, 16) >= 0 for commit in commits.values())


def test_parts_may_have_a_commit_of_their_own() -> None:
    page = "# Benchmarks\n\n<!-- guard: aaaaaaa -->\n<!-- guard two, three: bbbbbbb -->\n"
    parts = ["one", "two", "three"]
    assert guarded_commits(page, parts) == {"one": "aaaaaaa", "two": "bbbbbbb", "three": "bbbbbbb"}


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("# Benchmarks\n", "there must be a line"),
        ("<!-- guard one: aaaaaaa -->", "there must be a line"),
        ("<!-- guard: aaaaaaa -->\n<!-- guard: bbbbbbb -->", "another line"),
        ("<!-- guard: aaaaaaa -->\n<!-- guard on: bbbbbbb -->", "the parts are one"),
    ],
)
def test_page_that_names_no_commit_or_two_is_refused(page: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        guarded_commits(page, ["one"])


# ----------------------------------------------------------------------------------------- the command

Repository = Callable[[Callable[[Path], object]], Path]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Makes a git repository with a commit of this checkout's code, once it was changed."""

    def made(change: Callable[[Path], object]) -> Path:
        directory = tmp_path / "repository"
        for name in ("kafka_groups", "tests/benchmarks", "tests/support", "tests/topologies"):
            shutil.copytree(ROOT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "tests" / "__init__.py", directory / "tests")
        shutil.copy(ROOT / "pyproject.toml", directory)
        change(directory)
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "then"]):
            who = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
            subprocess.run(["git", "-C", str(directory), *who, *command], check=True)
        return directory

    return made


def guarded(repository: Path, written: Path, *arguments: str) -> tuple[int, str, list[dict[str, Any]]]:
    command = ["guard", "--against=HEAD", f"--repository={repository}", "--rounds=1", "--fraction=0.001",
               f"--json={written}", *arguments]  # fmt: skip
    result = CliRunner().invoke(main, command)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, result.output, json.loads(written.read_text())["guard"]


@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_checkout_is_compared_with_itself(repository: Repository, tmp_path: Path) -> None:
    then = repository(lambda _directory: None)
    status, output, rows = guarded(then, tmp_path / "figures.json", "--part=arrow", "--part=loading", "--least=0")
    assert status == 0, output
    assert f"now: {ROOT}" in output
    assert all(row["ratio"] > 0 for row in rows), output
    assert len(rows) == 3


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", ["applications", "restoration", "workers"])
def test_programs_of_this_checkout_run_with_both_packages(part: str, repository: Repository, tmp_path: Path) -> None:
    then = repository(lambda _directory: None)
    status, output, rows = guarded(then, tmp_path / "figures.json", f"--part={part}", "--least=0")
    assert status == 0, output
    assert all(row["ratio"] > 0 for row in rows), output


@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_guard_that_is_ended_shows_what_it_has_and_removes_the_checkout(
    repository: Repository, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "tests.benchmarks", "guard", "--against=HEAD", "--part=arrow", "--part=loading",
               f"--repository={repository(lambda _directory: None)}", "--rounds=1", "--fraction=0.001"]  # fmt: skip
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"TMPDIR": str(temporary)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        while not process.stderr.readline().startswith("loading against"):
            assert process.poll() is None
        process.terminate()
        output, _ = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert "Into Arrow" in output
    assert list(temporary.iterdir()) == []


@pytest.mark.long
@pytest.mark.timeout(240)
def test_what_a_checkout_lacks_is_missing_and_what_it_breaks_is_an_error(
    repository: Repository, tmp_path: Path
) -> None:
    """The program of the assignor is there, but its command imports what is not."""
    then = repository(lambda directory: (directory / "tests" / "benchmarks" / "arrow_command.py").unlink())
    status, output, rows = guarded(then, tmp_path / "figures.json", "--part=arrow", "--part=assignor")
    assert status == 1
    assert [row["missing"] for row in rows] == [[THEN], [THEN], []]
    assert all(row["figures"][NOW] for row in rows)
    assert "No module named 'tests.benchmarks.arrow_command'" in output
