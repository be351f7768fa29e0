"""The question which kind of group has an id (DescribeGroups, ListGroups)."""

from collections.abc import Mapping, Sequence

from attrs import frozen

from kafka_groups.admin.rules.groups import type_of_group
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Asking, Question, told
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse

__all__ = ["GroupKind", "kind_of_group"]


@frozen
class GroupKind:
    """The type of a group.

    Attributes:
        type: The type, such as `share` or `classic`.
        protocol: The protocol of the members of a classic group, such as `range`; empty if it is unknown.
    """

    type: str
    protocol: str = ""

    @property
    def is_of_streams(self) -> bool:
        """True if the members are those of a streams application with `group.protocol=classic`."""
        return self.type == "classic" and self.protocol == "stream"


async def kind_of_group(ask: Asking, group_id: str) -> GroupKind | None:
    """Ask which type a group has; None if no broker tells it.

    Raises:
        KafkaGroupsError: The brokers could not be asked.
    """
    question = Question(
        "describe the group", ApiKey.DESCRIBE_GROUPS, (group_id,), _description, _classic_kinds, COORDINATORS
    )
    # Only classic groups are described.
    if (kind := (await ask(question)).values.get(group_id)) is not None:
        return kind
    group_type = await type_of_group(ask, group_id)
    return None if group_type is None else GroupKind(group_type)


def _description(keys: Sequence[str], _version: int) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=tuple(keys))


def _classic_kinds(_keys: Sequence[str], response: DescribeGroupsResponse) -> Mapping[str, Answer[GroupKind | None]]:
    # A group of another type is GROUP_ID_NOT_FOUND from version 6 on, and Dead before.
    kinds = {each.group_id: GroupKind("classic", each.protocol_data) for each in response.groups}
    return {
        each.group_id: told(
            each.error_code, each.error_message, None if each.group_state == "Dead" else kinds[each.group_id]
        )
        for each in response.groups
    }
