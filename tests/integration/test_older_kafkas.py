"""Releases of Kafka from before streams groups, as `KafkaProcess` starts them."""

from collections.abc import Iterator

import pytest

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType, FindCoordinatorRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_groups.testing.kafka_process import KafkaProcess, kafka_answers
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import RawConnection, unique

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]

NEWEST = {
    "3.7.2": {ApiKey.PRODUCE: 10, ApiKey.FETCH: 16, ApiKey.JOIN_GROUP: 9, ApiKey.END_TXN: 3},
    "3.9.1": {ApiKey.PRODUCE: 11, ApiKey.FETCH: 17, ApiKey.JOIN_GROUP: 9, ApiKey.END_TXN: 4},
}
"""For each release, the newest version of some APIs."""

LOADING = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


@pytest.fixture(scope="module", params=NEWEST)
def kafka(request: pytest.FixtureRequest) -> Iterator[KafkaProcess]:
    with KafkaProcess(request.param) as started:
        yield started


def test_it_lists_the_versions_of_its_apis(kafka: KafkaProcess) -> None:
    with RawConnection(kafka.host, kafka.port) as connection:
        told = connection.ask(ApiVersionsRequest(client_software_name="tests", client_software_version="0"), 3)
    found = {each.api_key: each.max_version for each in told.api_keys}
    assert {key: found[key] for key in NEWEST[kafka.version]} == NEWEST[kafka.version]
    assert not {ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT} & found.keys()
    assert "transaction.version" not in {each.name for each in told.finalized_features}


def test_classic_groups_may_have_short_sessions(kafka: KafkaProcess) -> None:
    request = JoinGroupRequest(
        group_id=unique("group"),
        session_timeout_ms=1_000,
        rebalance_timeout_ms=1_000,
        member_id="",
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
    )
    finding = FindCoordinatorRequest(key_type=CoordinatorType.GROUP, coordinator_keys=(request.group_id,))
    with RawConnection(kafka.host, kafka.port) as connection:
        wait_until(lambda: connection.ask(finding, 4).coordinators[0].error_code is ErrorCode.NONE)  # its topic is made
        wait_until(lambda: connection.ask(request, 9).error_code not in LOADING)
        assert connection.ask(request, 9).error_code is ErrorCode.MEMBER_ID_REQUIRED


def test_it_starts_again_with_its_storage_and_its_address(kafka: KafkaProcess) -> None:
    servers = kafka.bootstrap_servers
    kafka.restart()
    assert kafka.bootstrap_servers == servers
    assert kafka_answers(kafka.host, kafka.port)
