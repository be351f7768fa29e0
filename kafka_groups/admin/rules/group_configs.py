"""Questions about the configurations of groups: describe, alter (DescribeConfigs, IncrementalAlterConfigs)."""

from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.admin.rules.config_questions import altered_resource, config_question
from kafka_groups.admin.rules.returned_values import GroupConfigValue
from kafka_groups.client.calls.questions import Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE
from kafka_groups.protocol.messages.describe_configs import (
    GROUP_CONFIG,
    DescribeConfigsResourceResult,
)
from kafka_groups.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

__all__ = ["ConfigChanges", "GroupConfigValues", "alter_configs", "describe_configs"]

GroupConfigValues = Mapping[str, GroupConfigValue]
ConfigChanges = Mapping[str, str | None]
"""New values by name; None resets a configuration to the broker's default."""


async def describe_configs(ask: Asking, group_ids: Iterable[str]) -> Results[str, GroupConfigValues]:
    """Ask any broker for all configurations of groups, defaults included."""
    return await ask(config_question("describe the configuration of the group", GROUP_RESOURCE, group_ids, _value_of))


def _value_of(config: DescribeConfigsResourceResult) -> GroupConfigValue:
    return GroupConfigValue(config.value, config.config_source == GROUP_CONFIG)


async def alter_configs(
    ask: Asking, changes: Mapping[str, ConfigChanges], *, validate_only: bool
) -> Results[str, None]:
    """Have any broker change configurations of groups: all changes of a group, or none."""

    def build(keys: Sequence[str], _version: int) -> IncrementalAlterConfigsRequest:
        resources = tuple(altered_resource(GROUP_RESOURCE, key, changes[key]) for key in keys)
        return IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)

    keys, api = tuple(changes), ApiKey.INCREMENTAL_ALTER_CONFIGS
    return await ask(Question("alter the configuration of the group", api, keys, build, _altered))


def _altered(_keys: Sequence[str], response: IncrementalAlterConfigsResponse) -> Mapping[str, Answer[None]]:
    return {each.resource_name: told(each.error_code, each.error_message, None) for each in response.responses}
