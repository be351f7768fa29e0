"""From `module:build` to a topology, and the errors on the way."""

import sys
from pathlib import Path

import click
import pytest

from kafka_groups.cli.topologies.loading import load_topology
from kafka_groups.streams import Topology

PROGRAM = """
import sys
from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, Topology

def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("posts", key=serdes.string, value=serdes.string).to("copies")
    return builder.build()

def with_argument(name): return build()
async def later(): return build()
def one_by_one(): yield build()
def nothing(): pass
def unfinished(): return StreamsBuilder()
def broken(): return {}["missing"]
def ending(): sys.exit("over")
def contradictory():
    builder = StreamsBuilder()
    builder.stream("a", key=serdes.string, value=serdes.string).map_values(len).to("b")
    return builder.build()
made = build()
number = 5
class Built(Topology): pass
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a program."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    for name in ("app_of_tests", "app_that_fails"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "app_of_tests.py").write_text(PROGRAM)
    return tmp_path


def message(given: str) -> str:
    with pytest.raises(click.ClickException) as refused:
        load_topology(given)
    return refused.value.message


def test_a_module_in_the_working_directory() -> None:
    found = load_topology("app_of_tests:build")
    assert isinstance(found, Topology)
    assert "copies" in found.describe()


@pytest.mark.parametrize("given", ["app_of_tests", "app_of_tests:", ":build", ""])
def test_the_form_is_checked(given: str) -> None:
    assert message(given) == f"{given!r} is not of the form MODULE:FUNCTION, such as app:build."


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("buld", "Module 'app_of_tests' has no function 'buld'. Its functions are: broken, build, "),
        (
            "number",
            "app_of_tests:number is of the type int and not a function without arguments that returns a Topology.",
        ),
        ("made", "app_of_tests:made is of the type Topology and not a function"),
        ("Built", "app_of_tests:Built is a class and not a function"),
        ("with_argument", "that returns a Topology (missing a required argument: 'name')."),
        ("later", "is declared with async def"),
        ("one_by_one", "is a generator function"),
        ("nothing", "app_of_tests:nothing returned NoneType and not a Topology."),
        ("unfinished", "app_of_tests:unfinished returned a StreamsBuilder. Return builder.build()."),
        ("broken", "app_of_tests:broken failed: KeyError: 'missing' (app_of_tests.py:16)"),
        ("ending", "app_of_tests:ending failed: SystemExit: over (app_of_tests.py:17)"),
        ("contradictory", "app_of_tests:contradictory failed: TopologyError: "),
    ],
)
def test_functions_that_build_no_topology(name: str, words: str) -> None:
    assert words in message(f"app_of_tests:{name}")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "import no_such_module_of_tests",
            "ModuleNotFoundError: No module named 'no_such_module_of_tests' (app_that_fails.py:1)",
        ),
        ("def build(:", "SyntaxError: invalid syntax"),
        ("\n1 / 0", "ZeroDivisionError: division by zero (app_that_fails.py:2)"),
        ("import sys\nsys.exit(3)", "SystemExit: 3 (app_that_fails.py:2)"),
    ],
)
def test_modules_that_cannot_be_imported(folder: Path, code: str, words: str) -> None:
    (folder / "app_that_fails.py").write_text(code)
    found = message("app_that_fails:build")
    assert found.startswith("Module 'app_that_fails' cannot be imported: ")
    assert words in found


@pytest.mark.parametrize("name", ["no_such_module_of_tests", "no_such_module_of_tests.inner", "app_of_tests.inner"])
def test_modules_that_do_not_exist(folder: Path, name: str) -> None:
    missing = name.partition(".")[0] if name.startswith("no") else name
    assert message(f"{name}:build").startswith(f"There is no module {missing!r}, neither in {folder} nor where Python")
