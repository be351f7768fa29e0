"""Errors on their way from a process to its parent."""

import pickle

from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.share.workers.processes.messages import ChildError


class UnpicklableError(Exception):
    """An error that cannot be made again from its arguments."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} {two}")


def sent(error: Exception) -> Exception:
    """An error as the parent gets it."""
    try:
        raise error
    except Exception as raised:
        message: ChildError = pickle.loads(pickle.dumps(ChildError.of(raised)))
    return message.restored()


def test_the_parent_gets_the_error_and_where_it_was_raised() -> None:
    error = sent(ValueError("not a number"))
    assert isinstance(error, ValueError)
    assert str(error) == "not a number"
    assert "raised in a worker process" in error.__notes__[0]
    assert "test_messages.py" in error.__notes__[0]


def test_an_error_that_cannot_be_sent_comes_as_text() -> None:
    error = sent(UnpicklableError(1, 2))
    assert type(error) is KafkaGroupsError
    assert "UnpicklableError: 1 2" in str(error)


def test_errors_of_the_configuration_are_known_as_such() -> None:
    assert ChildError.of(ConfigurationError("no")).is_configuration
    assert not ChildError.of(ValueError("no")).is_configuration
