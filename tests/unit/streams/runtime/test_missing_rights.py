import pytest

from kafka_groups.errors import GroupAuthorizationFailedError, OperationTimeoutError, TopicAuthorizationFailedError
from kafka_groups.streams.runtime.missing_rights import MissingRights


def test_a_refusal_of_the_group_names_user_operation_and_group() -> None:
    with pytest.raises(GroupAuthorizationFailedError) as raised, MissingRights("app", "User:ann").explained():
        raise GroupAuthorizationFailedError("GROUP_AUTHORIZATION_FAILED (group app)")
    assert str(raised.value) == "User:ann may not use the group 'app'. Grant the operation Read on the group."


def test_a_refusal_of_a_topic_has_what_the_broker_says_and_all_that_is_needed() -> None:
    with pytest.raises(TopicAuthorizationFailedError) as raised, MissingRights("app").explained():
        raise TopicAuthorizationFailedError("TOPIC_AUTHORIZATION_FAILED: orders.")
    assert str(raised.value) == (
        "The client's user may not use a topic of the application (TOPIC_AUTHORIZATION_FAILED: orders). Grant the "
        "operation Read on each source topic, and Create, Delete, Read and Write on the internal topics, whose names "
        "begin with 'app-'."
    )


def test_other_errors_stay_as_they_are() -> None:
    error = OperationTimeoutError("no answer")
    with pytest.raises(OperationTimeoutError) as raised, MissingRights("app").explained():
        raise error
    assert raised.value is error
