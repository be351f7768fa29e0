"""The table of handlers. An API that is not in the table is neither served nor advertised."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.broker.api import (
    alter_share_group_offsets,
    alter_user_scram_credentials,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_share_group_state,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_user_scram_credentials,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    initialize_share_group_state,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    produce,
    read_share_group_state,
    read_share_group_state_summary,
    sasl_authenticate,
    sasl_handshake,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    streams_group_describe,
    streams_group_heartbeat,
    sync_group,
    update_features,
    write_share_group_state,
)
from kafka_groups.broker.api.api_versions import ApiVersionsHandler
from kafka_groups.broker.api.context import RequestContext
from kafka_groups.protocol.apis import ApiKey

__all__ = ["HANDLERS", "Handler"]

Handler = Callable[[Any, RequestContext], Awaitable[Any]]
"""Handles a request of one API. Returns the response, or None if the request gets no response."""

_HANDLERS: Mapping[ApiKey, Handler] = {
    ApiKey.PRODUCE: produce.handle,
    ApiKey.FETCH: fetch.handle,
    ApiKey.LIST_OFFSETS: list_offsets.handle,
    ApiKey.METADATA: metadata.handle,
    ApiKey.FIND_COORDINATOR: find_coordinator.handle,
    ApiKey.OFFSET_COMMIT: offset_commit.handle,
    ApiKey.OFFSET_FETCH: offset_fetch.handle,
    ApiKey.OFFSET_DELETE: offset_delete.handle,
    ApiKey.JOIN_GROUP: join_group.handle,
    ApiKey.SYNC_GROUP: sync_group.handle,
    ApiKey.HEARTBEAT: heartbeat.handle,
    ApiKey.LEAVE_GROUP: leave_group.handle,
    ApiKey.DESCRIBE_GROUPS: describe_groups.handle,
    ApiKey.LIST_GROUPS: list_groups.handle,
    ApiKey.CREATE_TOPICS: create_topics.handle,
    ApiKey.DELETE_TOPICS: delete_topics.handle,
    ApiKey.DELETE_RECORDS: delete_records.handle,
    ApiKey.INIT_PRODUCER_ID: init_producer_id.handle,
    ApiKey.DESCRIBE_CONFIGS: describe_configs.handle,
    ApiKey.CREATE_PARTITIONS: create_partitions.handle,
    ApiKey.DELETE_GROUPS: delete_groups.handle,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs.handle,
    ApiKey.SASL_HANDSHAKE: sasl_handshake.handle,
    ApiKey.SASL_AUTHENTICATE: sasl_authenticate.handle,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: describe_user_scram_credentials.handle,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials.handle,
    ApiKey.UPDATE_FEATURES: update_features.handle,
    ApiKey.DESCRIBE_CLUSTER: describe_cluster.handle,
    ApiKey.LIST_CONFIG_RESOURCES: list_config_resources.handle,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions.handle,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat.handle,
    ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_group_describe.handle,
    ApiKey.STREAMS_GROUP_HEARTBEAT: streams_group_heartbeat.handle,
    ApiKey.STREAMS_GROUP_DESCRIBE: streams_group_describe.handle,
    ApiKey.SHARE_GROUP_HEARTBEAT: share_group_heartbeat.handle,
    ApiKey.SHARE_GROUP_DESCRIBE: share_group_describe.handle,
    ApiKey.SHARE_FETCH: share_fetch.handle,
    ApiKey.SHARE_ACKNOWLEDGE: share_acknowledge.handle,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: initialize_share_group_state.handle,
    ApiKey.READ_SHARE_GROUP_STATE: read_share_group_state.handle,
    ApiKey.WRITE_SHARE_GROUP_STATE: write_share_group_state.handle,
    ApiKey.DELETE_SHARE_GROUP_STATE: delete_share_group_state.handle,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: read_share_group_state_summary.handle,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: describe_share_group_offsets.handle,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: alter_share_group_offsets.handle,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: delete_share_group_offsets.handle,
}

HANDLERS: Mapping[ApiKey, Handler] = MappingProxyType({ApiKey.API_VERSIONS: ApiVersionsHandler(_HANDLERS), **_HANDLERS})
"""The handlers by API. ApiVersions lists exactly these APIs."""
