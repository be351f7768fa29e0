"""The way of a producer or reader to the brokers: each request goes to the one that is in charge."""

import asyncio
from typing import Any

from kafka_groups.broker.metadata.placement import GROUP_TOPIC, TRANSACTION_TOPIC, partition_of_key
from kafka_groups.errors import KafkaGroupsError, error_for
from kafka_groups.net.connection import ClientConnection
from kafka_groups.protocol.apis import api_of
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.testing.simulation import SimulatedWorld

__all__ = ["BrokersLink"]

_CONNECT_S, _ANSWER_S = 3.0, 6.0


class BrokersLink:
    """Asks the leader of one partition at a time. A connection on which something failed is given up.

    Args:
        world: Where the brokers are.
        client_id: The client id of the requests.

    Attributes:
        place: The topic and partition whose leader gets the requests.
    """

    def __init__(self, world: SimulatedWorld, client_id: str) -> None:
        self._world = world
        self._client_id = client_id
        self._connections: dict[int, ClientConnection] = {}
        self.place = ("", 0)

    def for_id(self, transactional_id: str) -> "BrokersLink":
        """Ask the coordinator of a transactional id next."""
        return self.for_partition(TRANSACTION_TOPIC, self._partition(TRANSACTION_TOPIC, transactional_id))

    def for_group(self, group_id: str) -> "BrokersLink":
        """Ask the coordinator of a group next."""
        return self.for_partition(GROUP_TOPIC, self._partition(GROUP_TOPIC, group_id))

    def for_partition(self, topic: str, partition: int) -> "BrokersLink":
        """Ask the leader of a partition next."""
        self.place = (topic, partition)
        return self

    async def ask(self, request: object, version: int | None = None) -> Any:
        """Send a request, and return its response.

        Raises:
            KafkaGroupsError: There is no response.
        """
        node_id = self._leader()
        connection = await self._connected(node_id)
        version = api_of(type(request)).versions.high if version is None else version
        deadline_ms = (asyncio.get_running_loop().time() + _ANSWER_S) * 1000
        try:
            return await connection.request(request, version, deadline_ms)
        except KafkaGroupsError:
            self._connections.pop(node_id, None)
            connection.abort()
            raise

    def close(self) -> None:
        """Break all connections."""
        for connection in self._connections.values():
            connection.abort()
        self._connections.clear()

    def _partition(self, topic: str, key: str) -> int:
        known = self._world.cluster.metadata.topic(topic)
        return 0 if known is None else partition_of_key(key, known.num_partitions)

    def _leader(self) -> int:
        topic, partition = self.place
        known = self._world.cluster.metadata.topic(topic)
        if known is None or known.partitions[partition].leader_id < 0:
            raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, f"{topic}-{partition} has no leader")
        return known.partitions[partition].leader_id

    async def _connected(self, node_id: int) -> ClientConnection:
        if node_id not in self._connections:
            endpoint = self._world.cluster.metadata.brokers.get(node_id)
            if endpoint is None:
                raise error_for(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is gone")
            try:
                async with asyncio.timeout(_CONNECT_S):
                    self._connections[node_id] = await ClientConnection.open(
                        self._world._stage.network, endpoint.host, endpoint.port, self._client_id
                    )
            except TimeoutError as error:
                raise KafkaGroupsError(f"broker {node_id} does not accept the connection") from error
        return self._connections[node_id]
