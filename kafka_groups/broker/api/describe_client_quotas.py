"""DescribeClientQuotas (key 48), v0-v1: answers that there are no quotas, as nothing here would enforce one.

Tools ask for quotas when they describe a user or a client id.

Errors: CLUSTER_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION (another type of entities), INVALID_REQUEST (an empty type, an
unknown type of matches, a name that is missing or not wanted, a type that is there twice, or an address beside others).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_unless_refused
from kafka_groups.errors import BrokerError, InvalidRequestError, UnsupportedVersionError
from kafka_groups.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    QuotaFilter,
)

__all__ = ["handle"]

_IP: Final = "ip"
_TYPES: Final = frozenset({"user", "client-id", _IP})
_EXACT: Final = 0
_NAMES: Final[Mapping[int, str]] = MappingProxyType({
    _EXACT: "MATCH_TYPE_EXACT", 1: "MATCH_TYPE_DEFAULT", 2: "MATCH_TYPE_SPECIFIED",
})  # fmt: skip


async def handle(request: DescribeClientQuotasRequest, context: RequestContext) -> DescribeClientQuotasResponse:
    """Return that no entity has a quota."""
    try:
        context.require(AclOperation.DESCRIBE_CONFIGS, AclResourceType.CLUSTER)
        _check(request.components)
    except BrokerError as error:
        return DescribeClientQuotasResponse(error_code=code_of(error), error_message=message_unless_refused(error))
    return DescribeClientQuotasResponse(error_message="", entries=())


def _check(filters: Sequence[QuotaFilter]) -> None:
    for each in filters:
        _check_filter(each)
    times = Counter(each.entity_type for each in filters)
    repeated = next((entity_type for entity_type, count in times.items() if count > 1), None)
    if repeated is not None:
        raise InvalidRequestError(f"Entity type {repeated} cannot appear more than once in the filter.")
    if _IP in times and len(times) > 1:
        raise InvalidRequestError(
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId"
            " filter component."
        )


def _check_filter(each: QuotaFilter) -> None:
    if not each.entity_type:
        raise InvalidRequestError("Invalid empty entity type.")
    if each.entity_type not in _TYPES:
        raise UnsupportedVersionError(f"Unsupported entity type {each.entity_type}")
    if each.match_type not in _NAMES:
        raise InvalidRequestError(f"Unknown match type {each.match_type}")
    has_name, match_type = each.match is not None, _NAMES[each.match_type]
    if each.match_type == _EXACT and not has_name:
        raise InvalidRequestError(f"Request specified {match_type}, but set match string to null.")
    if each.match_type != _EXACT and has_name:
        raise InvalidRequestError(f"Request specified {match_type}, but also specified a match string.")
