"""DescribeClientQuotas: there are none."""

import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    QuotaFilter,
)
from tests.support.broker.broker_services import HandlerBroker, all_versions

USER = QuotaFilter(entity_type="user", match_type=2)


async def asked(*filters: QuotaFilter, version: int = 1) -> DescribeClientQuotasResponse:
    request = DescribeClientQuotasRequest(components=filters, strict=False)
    response: DescribeClientQuotasResponse = await HandlerBroker(1, {}).ask(request, version)
    return response


@pytest.mark.parametrize("version", all_versions(DescribeClientQuotasRequest))
async def test_nobody_has_quotas(version: int) -> None:
    for filters in ((), (USER,), (USER, QuotaFilter(entity_type="client-id", match_type=0, match="app"))):
        response = await asked(*filters, version=version)
        assert (response.error_code, response.error_message, response.entries) == (ErrorCode.NONE, "", ())


@pytest.mark.parametrize(
    ("filters", "code", "text"),
    [
        (
            [QuotaFilter(entity_type="nosuch", match_type=2)],
            ErrorCode.UNSUPPORTED_VERSION,
            "Unsupported entity type no",
        ),
        ([QuotaFilter(entity_type="", match_type=2)], ErrorCode.INVALID_REQUEST, "Invalid empty entity type."),
        ([QuotaFilter(entity_type="user", match_type=9)], ErrorCode.INVALID_REQUEST, "Unknown match type 9"),
        ([QuotaFilter(entity_type="user", match_type=0)], ErrorCode.INVALID_REQUEST, "MATCH_TYPE_EXACT, but set match"),
        (
            [QuotaFilter(entity_type="user", match_type=1, match="ann")],
            ErrorCode.INVALID_REQUEST,
            "MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        ([USER, USER], ErrorCode.INVALID_REQUEST, "Entity type user cannot appear more than once in the filter."),
        (
            [USER, QuotaFilter(entity_type="ip", match_type=2)],
            ErrorCode.INVALID_REQUEST,
            "IP filter component should not",
        ),
    ],
)
async def test_filters_that_kafka_refuses(filters: list[QuotaFilter], code: ErrorCode, text: str) -> None:
    response = await asked(*filters)
    assert (response.error_code, response.entries) == (code, None)
    assert text in (response.error_message or "")
