"""DescribeClientQuotas (key 48), v0-v1: the quotas of users, client ids and addresses (KIP-546)."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class QuotaFilter:
    """Entities of one type. `match_type`: 0 one by its name, 1 the default one, 2 any that has a name or is default."""

    entity_type: str
    match_type: int
    match: str | None = None


@frozen(kw_only=True)
class DescribeClientQuotasRequest:
    """Entities that match all components. With `strict`, only those that have no other types."""

    components: tuple[QuotaFilter, ...] = ()
    strict: bool


@frozen(kw_only=True)
class QuotaEntity:
    """One part of an entity. A name of None is the default of its type."""

    entity_type: str
    entity_name: str | None = None


@frozen(kw_only=True)
class QuotaValue:
    """One limit."""

    key: str
    value: float


@frozen(kw_only=True)
class ClientQuotas:
    """The limits of one entity."""

    entity: tuple[QuotaEntity, ...] = ()
    values: tuple[QuotaValue, ...] = ()


@frozen(kw_only=True)
class DescribeClientQuotasResponse:
    """The entities that match."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    entries: tuple[ClientQuotas, ...] | None = None
