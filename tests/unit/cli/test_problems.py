import pytest

from kafka_groups.cli.problems import CommandProblem, problem_of
from kafka_groups.client.rights import refused
from kafka_groups.errors import (
    GroupIdNotFoundError,
    KafkaGroupsError,
    MessageTooLargeError,
    NonEmptyGroupError,
    OperationTimeoutError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode


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


def test_the_command_that_grants_a_right_is_the_remedy() -> None:
    error = refused(ApiKey.DELETE_GROUPS, ErrorCode.GROUP_AUTHORIZATION_FAILED, ["g"], "User:ann")
    problem = problem_of("g", error)
    command = "kafka-groups acls add --allow User:ann --group g --operation DELETE"
    assert problem.message == "User:ann needs DELETE on the group g (GROUP_AUTHORIZATION_FAILED)."
    assert problem.remedy == f"Grant it: {command}"
    assert problem.line == f"g: User:ann needs DELETE on the group g (GROUP_AUTHORIZATION_FAILED). Grant it: {command}"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            NonEmptyGroupError("NON_EMPTY_GROUP"),
            "g: It has members. Stop them, or wait until their sessions time out, and try again (NON_EMPTY_GROUP)",
        ),
        (
            UnknownTopicOrPartitionError("UNKNOWN_TOPIC_OR_PARTITION: the topic g"),
            "g: It does not exist (UNKNOWN_TOPIC_OR_PARTITION)",
        ),
        (
            GroupIdNotFoundError("GROUP_ID_NOT_FOUND"),
            "g: The group does not exist, or is of another type (GROUP_ID_NOT_FOUND)",
        ),
        (GroupIdNotFoundError("Group g not found"), "g: Group g not found (GROUP_ID_NOT_FOUND)"),
    ],
)
def test_a_bare_code_gets_a_sentence(error: KafkaGroupsError, line: str) -> None:
    assert problem_of("g", error).line == line
