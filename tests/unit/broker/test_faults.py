"""Fault rules: which requests they strike, how often, and what they say of themselves."""

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION, DROP_RESPONSE, Faults, answer, delay
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafka_groups.protocol.messages.produce import ProduceRequest


def metadata_of(name: str) -> MetadataRequest:
    return MetadataRequest(topics=(MetadataRequestTopic(name=name),))


def test_nothing_strikes_without_rules() -> None:
    faults = Faults()
    assert not faults.active
    assert faults.action_for(1, ApiKey.METADATA, MetadataRequest()) is None


def test_first_rule_that_applies_strikes_until_it_is_spent() -> None:
    faults = Faults()
    first = faults.on(ApiKey.METADATA, DROP_CONNECTION, times=2)
    second = faults.on(None, delay(5))
    actions = [faults.action_for(1, ApiKey.METADATA, MetadataRequest()) for _ in range(3)]
    assert actions == [DROP_CONNECTION, DROP_CONNECTION, delay(5)]
    assert (first.hits, second.hits) == (2, 1)
    assert first.is_spent
    assert not second.is_spent


def test_rules_spare_other_apis_brokers_and_requests() -> None:
    faults = Faults()
    rule = faults.on(ApiKey.METADATA, DROP_RESPONSE, node_id=2, when=lambda request: request.topics[0].name == "struck")
    assert faults.action_for(2, ApiKey.FETCH, metadata_of("struck")) is None
    assert faults.action_for(1, ApiKey.METADATA, metadata_of("struck")) is None
    assert faults.action_for(2, ApiKey.METADATA, metadata_of("spared")) is None
    assert rule.hits == 0
    assert faults.action_for(2, ApiKey.METADATA, metadata_of("struck")) is DROP_RESPONSE
    assert rule.hits == 1


def test_rules_are_taken_back() -> None:
    faults = Faults()
    rule = faults.slow_down(1, 10)
    faults.on(ApiKey.FETCH, DROP_CONNECTION)
    faults.remove(rule)
    assert faults.action_for(1, ApiKey.METADATA, MetadataRequest()) is None
    faults.clear()
    assert not faults.active


def test_error_needs_a_place_in_the_response() -> None:
    produce = ProduceRequest(acks=1, timeout_ms=1, topic_data=())
    with pytest.raises(TypeError, match="ProduceResponse has no top-level error code"):
        answer(ErrorCode.NOT_CONTROLLER).response_to(produce)


def test_answer_takes_a_message_or_a_function() -> None:
    response = MetadataResponse(cluster_id="x")
    assert answer(response).response_to(MetadataRequest()) is response
    made = answer(lambda request: MetadataResponse(cluster_id=request.topics[0].name)).response_to(metadata_of("y"))
    assert made == MetadataResponse(cluster_id="y")


def test_rule_tells_what_it_does() -> None:
    faults = Faults()
    faults.on(ApiKey.SHARE_FETCH, delay(7), times=3, node_id=1)
    faults.on(None, DROP_CONNECTION)
    assert "SHARE_FETCH of broker 1: 0 of 3 times" in repr(faults)
    assert "any request: 0 of inf times" in repr(faults)
