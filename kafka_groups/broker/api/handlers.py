"""The table of handlers: what is not in it is not served and not advertised."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.broker.api import (
    delete_records,
    describe_cluster,
    describe_topic_partitions,
    fetch,
    init_producer_id,
    list_offsets,
    metadata,
    produce,
)
from kafka_groups.broker.api.api_versions import ApiVersionsHandler
from kafka_groups.broker.api.context import RequestContext
from kafka_groups.protocol.apis import ApiKey

__all__ = ["HANDLERS", "Handler"]

Handler = Callable[[Any, RequestContext], Awaitable[Any]]
"""Handles the requests of one API: the response, or None when there is none."""

_HANDLERS: Mapping[ApiKey, Handler] = {
    ApiKey.PRODUCE: produce.handle,
    ApiKey.FETCH: fetch.handle,
    ApiKey.LIST_OFFSETS: list_offsets.handle,
    ApiKey.METADATA: metadata.handle,
    ApiKey.DELETE_RECORDS: delete_records.handle,
    ApiKey.INIT_PRODUCER_ID: init_producer_id.handle,
    ApiKey.DESCRIBE_CLUSTER: describe_cluster.handle,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions.handle,
}

HANDLERS: Mapping[ApiKey, Handler] = MappingProxyType({ApiKey.API_VERSIONS: ApiVersionsHandler(_HANDLERS), **_HANDLERS})
"""By API; ApiVersions tells clients of these and no others."""
