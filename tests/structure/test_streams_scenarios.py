"""The list of the scenarios of streams groups names all that there is, and tests that exist and run everywhere."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from attrs import frozen

from kafka_groups import errors
from kafka_groups.broker.coordinators.groups.epochs import members
from kafka_groups.broker.coordinators.groups.streams import states as group_states
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsStatus
from kafka_groups.streams.member.coordinated.transitions import TRANSITIONS
from tests.conformance.test_streams_refusals import REFUSED, REFUSED_BY_THE_GROUP

TESTS = Path(__file__).parents[1]
LIST = TESTS / "conformance" / "streams-scenarios.md"
COORDINATOR = Path(group_states.__file__).parent
FLOOR = 60
ON_ALL_TARGETS = {"everywhere", "everywhere_at_once", "everywhere_with"}
FIXTURE_OF_ALL_TARGETS = "trio"


@frozen
class Scenario:
    """An entry of the list.

    Attributes:
        number: Its number.
        text: The whole entry.
        names: What stands in it between backticks.
    """

    number: int
    text: str
    names: tuple[str, ...]

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that prove it: file, function and perhaps a parameter."""
        return tuple(name for name in self.names if "::" in name)

    @property
    def says_why_not(self) -> bool:
        """Whether it says why a test does not run everywhere."""
        return "Not everywhere: " in self.text


def scenarios_of(text: str) -> list[Scenario]:
    """The entries of a list."""
    parts = re.split(r"^(\d+)\. ", text, flags=re.MULTILINE)[1:]
    entries = [re.split(r"^#", part, flags=re.MULTILINE)[0] for part in parts[1::2]]
    joined = [" ".join(entry.split()) for entry in entries]
    return [
        Scenario(int(number), entry, tuple(re.findall(r"`([^`]+)`", entry)))
        for number, entry in zip(parts[::2], joined, strict=True)
    ]


SCENARIOS = scenarios_of(LIST.read_text(encoding="utf-8"))
NAMED = {name for scenario in SCENARIOS for name in scenario.names}


# -------------------------------------------------------------------------------------------- what there is


def rows() -> Iterator[str]:
    """The rows of all tables of states, as the list names them."""
    for state, event in group_states.STREAMS_GROUP_TRANSITIONS:
        yield f"group: {state.value}, {event.value}"
    for before, afterwards in group_states.STREAMS_MEMBER_TRANSITIONS.items():
        yield from (f"owner: {before.name}, {after.name}" for after in afterwards)
    for at, happens in TRANSITIONS:
        yield f"client: {at.value}, {happens.value}"


def raised() -> set[str]:
    """The names of the errors that the coordinator of streams groups answers with."""
    found: set[str] = set()
    for path in (*COORDINATOR.rglob("*.py"), Path(members.__file__)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                kind = getattr(errors, node.exc.func.id, None)
                if kind is not None and issubclass(kind, BrokerError):
                    found.add(ErrorCode(kind.code).name)
    return found


# ------------------------------------------------------------------------------------------------ the tests


@cache
def module(path: Path) -> ast.Module:
    """A parsed file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def place_of(test: str) -> Path:
    """The file of a test: in this folder's neighbour `conformance`, unless it names a folder."""
    name = test.partition("::")[0]
    return TESTS / name if "/" in name else TESTS / "conformance" / name


def function_of(test: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function of a test, or None if there is none."""
    name, path = test.partition("::")[2].partition("[")[0], place_of(test)
    nodes = module(path).body if path.is_file() else []
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return next((each for each in functions if each.name == name), None)


def targets_of(test: str) -> set[str]:
    """The decorators of a test, and what those of them are made from that stand in the module."""
    function = function_of(test)
    assert function is not None
    made = {
        target.id: node.value
        for node in module(place_of(test)).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    names = {called(each) for each in function.decorator_list}
    return names | {called(made[name]) for name in names if name in made}


def called(node: ast.expr) -> str:
    """The name of a decorator, or of what is called."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.id if isinstance(node, ast.Name) else ""


def runs_everywhere(test: str) -> bool:
    """Whether a test runs in memory, over TCP and on a real Kafka."""
    function = function_of(test)
    assert function is not None
    arguments = {argument.arg for argument in function.args.args}
    return bool(targets_of(test) & ON_ALL_TARGETS) or FIXTURE_OF_ALL_TARGETS in arguments


# ------------------------------------------------------------------------------------------------- the list


def test_scenarios_are_numbered() -> None:
    assert [each.number for each in SCENARIOS] == list(range(1, len(SCENARIOS) + 1))
    assert len(SCENARIOS) >= FLOOR


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: str(each.number))
def test_a_scenario_names_tests_that_run_everywhere(scenario: Scenario) -> None:
    assert scenario.tests
    assert [test for test in scenario.tests if function_of(test) is None] == []
    elsewhere = [test for test in scenario.tests if not runs_everywhere(test)]
    assert bool(elsewhere) == scenario.says_why_not, elsewhere


def test_every_row_of_the_tables_is_named_and_no_other() -> None:
    assert {name for name in NAMED if name.startswith(("group: ", "owner: ", "client: "))} == set(rows())


def test_a_row_of_the_groups_table_is_proved_by_its_own_test() -> None:
    for scenario in SCENARIOS:
        named = [
            name.removeprefix("group: ").replace(", ", "-") for name in scenario.names if name.startswith("group:")
        ]
        assert [test.partition("[")[2].rstrip("]") for test in scenario.tests if named] == named


def test_every_refusal_is_named() -> None:
    names = {*REFUSED, *REFUSED_BY_THE_GROUP}
    assert len(names) == len(REFUSED) + len(REFUSED_BY_THE_GROUP)
    refusals = [re.search(r"Refusals: (.*?)\. Tests:", each.text) for each in SCENARIOS]
    named = {name for found in refusals if found for name in re.findall(r"`([^`]+)`", found[1])}
    assert named == names


def test_every_error_and_status_of_the_coordinator_is_named() -> None:
    words = {word for each in SCENARIOS for word in re.findall(r"[A-Z_]{5,}", each.text)}
    assert raised() | {status.name for status in StreamsStatus} <= words


# ---------------------------------------------------------------------------------------------- the check itself


def test_what_is_missing_is_found() -> None:
    first, second = scenarios_of("# L\n\n1. One.\n   Tests: `a.py::test_b`.\n\n## M\n\n2. Two `group: A, b`.\n")
    assert (first.number, first.tests, second.tests, second.names) == (1, ("a.py::test_b",), (), ("group: A, b",))
    assert function_of("test_features.py::test_of_nothing") is None
    assert function_of("nowhere.py::test_of_nothing") is None
    assert not runs_everywhere("test_security.py::test_untrusted_broker")
    assert runs_everywhere("test_topology_descriptions.py::test_what_is_refused_is_not_kept")
    assert runs_everywhere("test_three_brokers.py::test_34_a_moved_leader_is_followed")
    assert {"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "STREAMS_INVALID_TOPOLOGY"} <= raised()
