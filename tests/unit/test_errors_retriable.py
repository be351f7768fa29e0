"""Which errors are retriable: for codes of brokers what Kafka's own client says, for all others a decision."""

from kafka_groups import errors
from kafka_groups.errors import KafkaGroupsError, WrongProtocolError, error_for, is_retriable

KAFKA_4_4 = frozenset({
    2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89, 100, 103, 106,
    122, 123, 133,
})  # fmt: skip
"""The codes whose exception in Kafka's Java client 4.4.0 is a RetriableException."""


def test_a_code_is_retriable_if_kafkas_client_says_so() -> None:
    assert {code for code in range(-1, 140) if code != 0 and error_for(code).retriable} == KAFKA_4_4


def test_every_error_says_whether_it_is_retriable() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(classes) > 60
    assert all(isinstance(cls.retriable, bool) for cls in classes if issubclass(cls, KafkaGroupsError))


def test_a_likely_reason_may_pass_and_a_certain_one_does_not() -> None:
    assert is_retriable(WrongProtocolError("probably TLS", is_certain=False))
    assert not is_retriable(WrongProtocolError("HTTP"))
    assert not is_retriable(ValueError("not ours"))
