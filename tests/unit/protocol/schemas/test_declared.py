"""Schemas that kio lacks, written by hand from Kafka 4.4's message definitions."""

import pytest

from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.protocol.codec import request_binding, response_binding
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kafka_groups.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kafka_groups.protocol.schemas.declared.newer_apis import REQUESTS, RESPONSES

_TAG_2_AND_3 = "02 08 02 02 66 0002 0001 00  03 01 01"
CASES = [
    (
        ApiVersionsRequest(client_software_name="n", client_software_version="1", cluster_id="cl", node_id=3),
        5,
        "02 6e  02 31  03 636c  00000003  00",
    ),
    (ApiVersionsRequest(client_software_name="n", client_software_version="1"), 5, "02 6e  02 31  00  ffffffff  00"),
    (
        ApiVersionsResponse(
            api_keys=(ApiVersion(api_key=18, min_version=0, max_version=5),),
            supported_features=(SupportedFeatureKey(name="f", min_version=0, max_version=2),),
            finalized_features_epoch=7,
            finalized_features=(FinalizedFeatureKey(name="f", max_version_level=2, min_version_level=1),),
            zk_migration_ready=True,
        ),
        5,
        "0000  02 0012 0000 0005 00  00000000  04  00 08 02 02 66 0000 0002 00  01 08 0000000000000007  "
        + _TAG_2_AND_3,
    ),
    (DeleteGroupsRequest(groups_names=("g", "h")), 3, "03 02 67 02 68 00"),
    (
        DeleteGroupsResponse(
            results=(
                DeletableGroupResult(group_id="g", error_code=ErrorCode.GROUP_DELETION_FAILED, error_message="no"),
                DeletableGroupResult(group_id="h"),
            )
        ),
        3,
        "00000000  03  02 67 0086 03 6e6f 00  02 68 0000 00 00  00",
    ),
]


@pytest.mark.parametrize(("message", "version", "expected"), CASES, ids=lambda value: type(value).__name__)
def test_bytes_of_a_declared_version(message: object, version: int, expected: str) -> None:
    key = ApiKey.API_VERSIONS if "ApiVersions" in type(message).__name__ else ApiKey.DELETE_GROUPS
    bind = request_binding if type(message).__name__.endswith("Request") else response_binding

    assert bind(key, version).encode(message) == bytes.fromhex(expected)
    assert bind(key, version).decode(bytes.fromhex(expected)) == message


def test_what_is_declared_is_the_newest_version() -> None:
    with_another_name = {(ApiKey.STREAMS_GROUP_HEARTBEAT, 0)}
    assert REQUESTS.keys() == RESPONSES.keys() - with_another_name
    assert {key: APIS[ApiKey(key)].versions.high for key, _ in REQUESTS} == dict(REQUESTS.keys())
