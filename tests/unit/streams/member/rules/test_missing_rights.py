import pytest

from kafka_groups.errors import GroupAuthorizationFailedError, OperationTimeoutError, TopicAuthorizationFailedError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.streams.member.rules.missing_rights import explained_refusal
from tests.unit.streams.member.classic.driven import description

GRANT = "kafka-groups acls add --allow User:ann"
API = ApiKey.STREAMS_GROUP_HEARTBEAT


def test_a_refusal_of_the_group_names_user_operation_and_group() -> None:
    told = explained_refusal(GroupAuthorizationFailedError("no"), API, description(), "User:ann")
    assert isinstance(told, GroupAuthorizationFailedError)
    assert str(told) == (
        "User:ann needs READ on the group app (GROUP_AUTHORIZATION_FAILED). Grant it: "
        f"{GRANT} --group app --operation READ"
    )


def test_a_refusal_of_a_topic_has_all_that_is_needed() -> None:
    denied = TopicAuthorizationFailedError("no")
    member = description()
    told = explained_refusal(denied, API, member, "User:ann")
    assert isinstance(told, TopicAuthorizationFailedError)
    assert told.__cause__ is denied
    read = " ".join(f"--topic {name}" for name in sorted(member.topology.source_topics))
    assert str(told).startswith("User:ann needs READ on the topic")
    assert ", and CREATE, DELETE, READ and WRITE on the topics whose names begin with app- (" in str(told)
    assert str(told).endswith(
        f"Grant it: {GRANT} {read} --operation READ; {GRANT} --topic app- --prefix --operation CREATE"
        " --operation DELETE --operation READ --operation WRITE"
    )


@pytest.mark.parametrize("error", [OperationTimeoutError("no answer")])
def test_other_errors_stay_as_they_are(error: OperationTimeoutError) -> None:
    assert explained_refusal(error, API, description(), "User:ann") is error
