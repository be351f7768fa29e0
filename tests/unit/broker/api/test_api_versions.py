"""Which broker a client wants (KIP-1242), and what each release lists."""

import pytest

from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.profile import PROFILES
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from tests.support.broker.broker_services import HandlerBroker

REQUEST = ApiVersionsRequest(client_software_name="tests", client_software_version="1")


@pytest.mark.parametrize(
    ("cluster", "node_id", "code"),
    [
        ("this", 0, ErrorCode.NONE),
        ("this", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("other", 0, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("this", -1, ErrorCode.INVALID_REQUEST),
        (None, 0, ErrorCode.INVALID_REQUEST),
        (None, -1, ErrorCode.NONE),
    ],
)
async def test_a_request_for_another_broker_is_refused(cluster: str | None, node_id: int, code: ErrorCode) -> None:
    broker = HandlerBroker()
    request = ApiVersionsRequest(
        client_software_name="tests",
        client_software_version="1",
        cluster_id=broker.metadata.cluster_id if cluster == "this" else cluster,
        node_id=node_id,
    )
    response = await broker.ask(request, 5)
    assert response.error_code is code
    assert bool(response.api_keys) is (code is ErrorCode.NONE)
    assert (await broker.ask(request, 4)).error_code is ErrorCode.NONE  # v4 cannot say it


@pytest.mark.parametrize("name", PROFILES)
async def test_a_release_lists_the_apis_that_have_a_handler(name: str) -> None:
    response = await HandlerBroker(profile=PROFILES[name]).ask(REQUEST, 4)
    listed = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    later = {key for key in HANDLERS if key not in PROFILES[name].versions}
    assert later <= {ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE}
    assert listed.keys() == HANDLERS.keys() - later
    assert listed[ApiKey.DELETE_GROUPS] == (0, 3 if name == "4.4" else 2)
    assert listed[ApiKey.API_VERSIONS] == (0, 5 if name == "4.4" else 4)
