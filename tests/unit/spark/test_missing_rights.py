import pytest

from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    DeliveryFailedError,
    KafkaGroupsError,
    MessageTooLargeError,
    TopicAuthorizationFailedError,
)
from kafka_groups.spark.missing_rights import explained_reading, naming_rights_to_write

ANN = {"security.protocol": "SASL_SSL", "sasl.username": "ann"}
GRANT = "Grant it: kafka-groups acls add --allow"


def failed(cause: KafkaGroupsError, keys: dict[str, object]) -> DeliveryFailedError:
    with pytest.raises(DeliveryFailedError) as caught, naming_rights_to_write("dead", keys):
        raise DeliveryFailedError("No broker has confirmed 2 records", failed=2, unanswered=0) from cause
    return caught.value


@pytest.mark.parametrize("cause", [TopicAuthorizationFailedError("no"), ClusterAuthorizationFailedError("no")])
def test_records_that_may_not_be_written_say_what_to_grant(cause: TopicAuthorizationFailedError) -> None:
    error = failed(cause, dict(ANN))
    assert str(error).startswith("No broker has confirmed 2 records. User:ann needs WRITE on the topic dead (")
    assert str(error).endswith(f"{GRANT} User:ann --topic dead --operation WRITE")
    assert (error.failed, error.unanswered, error.says_remedy) == (2, 0, True)


@pytest.mark.parametrize(("keys", "user"), [({}, "User:ANONYMOUS"), ({"security.protocol": "ssl"}, "User:NAME")])
def test_the_user_is_that_of_the_keys(keys: dict[str, object], user: str) -> None:
    assert f"{GRANT} {user} " in str(failed(TopicAuthorizationFailedError("no"), keys))


def test_other_reasons_stay() -> None:
    assert str(failed(MessageTooLargeError("too large"), {})) == "No broker has confirmed 2 records"


def test_a_reader_says_what_to_grant() -> None:
    told = explained_reading(TopicAuthorizationFailedError("no"), "orders", ANN)
    assert str(told).startswith("User:ann needs READ on the topic orders (TOPIC_AUTHORIZATION_FAILED).")
