import pytest

from kafka_groups.cli.problems import CommandProblem, problem_of
from kafka_groups.errors import KafkaGroupsError, MessageTooLargeError, OperationTimeoutError


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (
            CommandProblem("g", "It has 1 member.", "Stop it.", "NON_EMPTY_GROUP"),
            "g: It has 1 member. Stop it (NON_EMPTY_GROUP)",
        ),
        (CommandProblem("g", "It has 1 member", "Stop it"), "g: It has 1 member. Stop it."),
        (CommandProblem("g", "NON_EMPTY_GROUP: g", None, "NON_EMPTY_GROUP"), "g: NON_EMPTY_GROUP: g."),
        (CommandProblem("g", "two\nlines"), "g: two lines."),
    ],
)
def test_a_problem_is_one_line(problem: CommandProblem, line: str) -> None:
    assert problem.line == line


@pytest.mark.parametrize(
    ("error", "code"), [(MessageTooLargeError("x"), "MESSAGE_TOO_LARGE"), (OperationTimeoutError("x"), None)]
)
def test_errors_of_brokers_have_kafkas_name(error: KafkaGroupsError, code: str | None) -> None:
    problem = problem_of("orders", error)
    assert (problem.resource, problem.message, problem.code) == ("orders", "x", code)
    assert (problem.entry.code, problem.entry.remedy) == (code, None)
