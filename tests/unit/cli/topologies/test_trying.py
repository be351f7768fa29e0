"""`kafka-groups streams try`: from files to lines of JSON."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kafka_groups.cli.main import main
from tests.unit.cli.topologies.programs import PROGRAM


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a program and posts, which are not in order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "app_of_tests", raising=False)
    (tmp_path / "app_of_tests.py").write_text(PROGRAM)
    write(tmp_path / "posts.jsonl", post("ann", "to be", 5000), post("bob", "or not to be", 3000, [["h", "x"]]))
    return tmp_path


def post(key: str, value: str, timestamp_ms: int, headers: list[Any] | None = None) -> dict[str, Any]:
    return {"key": key, "value": value, "timestamp_ms": timestamp_ms, "headers": headers or []}


def write(path: Path, *lines: dict[str, Any]) -> None:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def run(function: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["streams", "try", f"app_of_tests:{function}", *arguments])


def lines(done: Result, remarks: str = "") -> list[dict[str, Any]]:
    assert (done.exit_code, done.stderr) == (0, remarks)
    return [json.loads(line) for line in done.stdout.splitlines()]


def refused(done: Result, status: int = 1) -> str:
    assert done.exit_code == status, done.output
    return " ".join(done.stderr.split())


def test_words_are_counted_in_order_of_time() -> None:
    found = lines(run("build", "--input", "posts=posts.jsonl"))
    assert [(each["key"], each["value"], each["timestamp_ms"]) for each in found] == [
        ("or", 1, 3000),
        ("not", 1, 3000),
        ("to", 1, 3000),
        ("be", 1, 3000),
        ("to", 2, 5000),
        ("be", 2, 5000),
    ]
    assert [each.get("headers") for each in found] == [[["h", "x"]]] * 4 + [None] * 2
    assert {each["topic"] for each in found} == {"word-counts"}


def test_output_can_be_input(folder: Path) -> None:
    (folder / "counts.jsonl").write_text(run("build", "--input", "posts=posts.jsonl").stdout)
    found = refused(run("prices", "--input", "prices=counts.jsonl"))
    assert found.endswith("counts.jsonl:1: topic: 'word-counts' is not 'prices', the topic of this input")
    assert found.startswith("No --input for: orders")


@pytest.mark.parametrize(
    ("options", "counted", "remarks"),
    [((), [3000, 5000], ""), (("--keep-order",), [5000], "Records dropped by KSTREAM-AGGREGATE-0000000002: 1\n")],
)
def test_windows_and_late_records(options: tuple[str, ...], counted: list[int], remarks: str) -> None:
    found = lines(run("windows", "--input", "posts=posts.jsonl", *options), remarks)
    assert [each["key"]["start_ms"] for each in found] == counted
    assert found[-1]["key"] == {"key": "ann", "start_ms": 5000, "end_ms": 6000}


def test_csv_and_times_of_two_inputs(folder: Path) -> None:
    (folder / "prices.csv").write_text("article,price\ntea,1.5\n")
    (folder / "orders.csv").write_text("at,article,amount\n1970-01-01T00:00:01Z,tea,4\n1970-01-01T00:00:00Z,tea,NA\n")
    arguments = ("--input", "prices=prices.csv", "--input", "orders=orders.csv", "--time", "at", "--key", "article")
    more = ("--time", "prices=0", "--value", "prices=price", "--value", "orders=amount", "--null", "NA")
    dropped = "Records dropped by KSTREAM-JOIN-0000000004: 1\n"  # the order without an amount
    assert lines(run("prices", *arguments, *more), dropped) == [
        {"topic": "totals", "key": "tea", "value": 6.0, "timestamp_ms": 1000}
    ]


def test_topics_that_are_chosen_for_each_record() -> None:
    found = lines(run("lengths", "--input", "posts=posts.jsonl"))
    assert [(each["topic"], each["value"]) for each in found] == [("of-bob", 12), ("of-ann", 5)]


def test_the_wall_clock_shows_the_time_of_the_records(folder: Path) -> None:
    write(folder / "posts.jsonl", *(post("a", "x", time_ms) for time_ms in (5000, 14_999, 15_000, 36_000)))
    assert [each["value"] for each in lines(run("clock", "--input", "posts=posts.jsonl"))] == ["15000", "36000"]


def test_no_records(folder: Path) -> None:
    (folder / "posts.jsonl").write_text("")
    assert lines(run("build", "--input", "posts=posts.jsonl")) == []


def test_a_bad_line_is_refused_before_anything_is_printed(folder: Path) -> None:
    with (folder / "posts.jsonl").open("a") as file:
        file.write('{"key": "ann", "value": 5, "timestamp_ms": 9000}\n')
    done = run("build", "--input", "posts=posts.jsonl")
    assert refused(done).startswith("Error: posts.jsonl:3: value: serdes.string cannot serialise 5 (int)")
    assert done.stdout == ""


def test_a_function_that_raises_is_named_with_the_line_of_the_record() -> None:
    found = refused(run("objects_out", "--input", "posts=posts.jsonl"))
    assert "cannot be shown as JSON, because serdes.of(complex) makes objects" in found
    (Path.cwd() / "app_of_tests.py").write_text(PROGRAM.replace("str.split", "lambda text: [1 / 0]"))
    sys.modules.pop("app_of_tests")
    found = refused(run("build", "--input", "posts=posts.jsonl"))
    assert found.startswith("Error: posts.jsonl:2: KSTREAM-FLATMAPVALUES-0000000001 in task 0_0 failed")
    assert "ZeroDivisionError" in found
    assert "(app_of_tests.py:" in found


def test_a_record_with_an_invalid_timestamp_is_named(folder: Path) -> None:
    write(folder / "posts.jsonl", post("ann", "to be", -1))
    assert "posts-0 offset 0 has the timestamp -1" in refused(run("build", "--input", "posts=posts.jsonl"))


@pytest.mark.parametrize(
    ("function", "arguments", "status", "words"),
    [
        ("build", (), 2, "Missing option '--input'"),
        ("build", ("--input", "posts"), 2, "'posts' is not of the form TOPIC=FILE."),
        ("build", ("--input", "posts=absent"), 2, "The file 'absent' does not exist."),
        ("build", ("--input", "posts=."), 2, "The file '.' is a directory."),
        ("build", ("--input", "post=posts.jsonl"), 2, "does not read topic 'post'. It reads: posts."),
        ("build", ("--input", "posts=posts.jsonl", "--time", "at"), 2, "is not CSV. Only a file whose name"),
        ("build", ("--input", "posts=posts.jsonl", "--null", "NA"), 2, "No input is CSV. Only a file whose name"),
        ("build", ("--input", "posts=posts.csv"), 2, "have no times. Name their column"),
        ("build", ("--input", "posts=posts.csv", "--time", "at", "--time", "to"), 2, "give one column for each topic"),
        ("build", ("--input", "posts=posts.csv", "--time", "posts="), 2, "give one column for each topic"),
        ("build", ("--input", "posts=posts.csv", "--time", "at"), 1, "posts.csv:1: a row is an object"),
        ("objects_in", ("--input", "posts=posts.jsonl"), 1, "cannot be made from JSON, because serdes.of(complex)"),
        ("two_serdes", ("--input", "posts=posts.jsonl"), 1, "writes to topic 'copies' with other serdes"),
        ("matching", ("--input", "post=posts.jsonl"), 2, "topic 'post'. It reads: all that match 'posts.*'."),
        ("empty", ("--input", "posts=posts.jsonl"), 2, "does not read topic 'posts'. It reads: none."),
    ],
)
def test_what_is_refused(folder: Path, function: str, arguments: tuple[str, ...], status: int, words: str) -> None:
    (folder / "posts.csv").write_text("at,text\n1,x\n")
    assert words in refused(run(function, *arguments), status)


def test_a_file_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert "The file 'posts.jsonl' cannot be read." in refused(run("build", "--input", "posts=posts.jsonl"), 2)


def test_a_column_may_have_an_equals_sign(folder: Path) -> None:
    (folder / "posts.csv").write_text("a=b,text\n1,x\n")
    found = lines(run("build", "--input", "posts=posts.csv", "--time", "a=b", "--value", "text"))
    assert [each["key"] for each in found] == ["x"]


def test_a_pattern_reads_the_topics_that_were_given() -> None:
    found = lines(run("matching", "--input", "posts=posts.jsonl", "--input", "posts-2=posts.jsonl"))
    assert [each["value"] for each in found] == ["OR NOT TO BE", "OR NOT TO BE", "TO BE", "TO BE"]
