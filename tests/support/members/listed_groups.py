"""The groups that a broker lists."""

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.list_groups import ListedGroup, ListGroupsRequest
from tests.support.conditions import until
from tests.support.requests.raw_client import RawClient


async def listed_groups(client: RawClient) -> tuple[ListedGroup, ...]:
    """All of them: while a broker loads any of its coordinators, Kafka lists none and says so."""
    response = await until(
        lambda: client.ask(ListGroupsRequest()),
        lambda it: it.error_code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    )
    assert response.error_code is ErrorCode.NONE, response
    groups: tuple[ListedGroup, ...] = response.groups
    return groups
