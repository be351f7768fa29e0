import pytest

from kafka_groups.errors import TransactionalIdAuthorizationFailedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import PartitionProduceResponse
from kafka_groups.records.producing.refusal_texts import refusal_of
from kafka_groups.types import TopicPartition

PLACE = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("code", "named"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "--topic orders"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "--topic orders"),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "--transactional-id tx"),
    ],
)
def test_a_missing_right_is_granted_by_the_command_in_the_text(code: ErrorCode, named: str) -> None:
    told = PartitionProduceResponse(index=0, error_code=code, base_offset=-1)
    error = refusal_of(told, PLACE, "User:ann", "tx")
    assert str(error).endswith(f"Grant it: kafka-groups acls add --allow User:ann {named} --operation WRITE")


def test_the_transactional_id_is_named() -> None:
    told = PartitionProduceResponse(index=0, error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, base_offset=-1)
    error = refusal_of(told, PLACE, "User:ann", "tx")
    assert isinstance(error, TransactionalIdAuthorizationFailedError)
    assert str(error).startswith("User:ann needs WRITE on the transactional id tx (TRANSACTIONAL_ID_")
