"""Bad input for changes of users is refused before anything is sent, with the value, the remedy and no password."""

from typing import Any, Final

import pytest

from kafka_groups.admin import UserScramCredentialDeletion, UserScramCredentialUpsertion
from kafka_groups.admin.rules.user_arguments import checked_user_changes
from kafka_groups.errors import ConfigurationError

SHA: Final = "SCRAM-SHA-256"
PASSWORD = "horse staple"


def upsertion(user: Any = "ann", mechanism: Any = SHA, password: Any = PASSWORD, iterations: Any = 4_096) -> Any:
    return UserScramCredentialUpsertion(user, mechanism, password, iterations)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("ann", "changes='ann': give a list, such as [UserScramCredentialUpsertion('ann', 'SCRAM-SHA-256', password)]"),
        ([], "changes is empty: give at least one, such as UserScramCredentialUpsertion('ann', 'SCRAM-SHA-256'"),
        ([("ann", SHA)], "changes: ('ann', 'SCRAM-SHA-256') is neither a UserScramCredentialUpsertion nor a"),
        ([upsertion(user="")], "changes: the user: '' is not a name: use text that is not empty"),
        (
            [upsertion(mechanism="PLAIN")],
            "changes: the mechanism 'PLAIN' of ann is unknown: use SCRAM-SHA-256 or SCRAM-SHA-512",
        ),
        (
            [UserScramCredentialDeletion("ann", "scram-sha-256")],  # type: ignore[arg-type]
            "changes: the mechanism 'scram-sha-256' of ann is unknown: use SCRAM-SHA-256 or SCRAM-SHA-512",
        ),
        ([upsertion(password="")], "changes: the password of ann is empty or not text: give text"),
        ([upsertion(password=b"bytes")], "changes: the password of ann is empty or not text: give text"),
        ([upsertion(password="\ud800")], "changes: the password of ann is empty or not text: give text"),
        (
            [upsertion(iterations=4_095)],
            "changes: 4095 iterations of ann are invalid: use a whole number from 4,096 to 16,384",
        ),
        (
            [upsertion(iterations=16_385)],
            "changes: 16385 iterations of ann are invalid: use a whole number from 4,096 to 16,384",
        ),
        (
            [upsertion(iterations=5e3)],
            "changes: 5000.0 iterations of ann are invalid: use a whole number from 4,096 to 16,384",
        ),
        (
            [upsertion(), UserScramCredentialDeletion("ann", SHA)],
            "changes: ann has two changes of SCRAM-SHA-256: give one for each user and mechanism",
        ),
    ],
)
def test_refusals_name_the_value_and_the_remedy(given: object, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        checked_user_changes(given)
    assert str(caught.value).startswith(message)
    assert PASSWORD not in str(caught.value)


def test_no_password_is_shown() -> None:
    assert PASSWORD not in repr(upsertion())
