"""Brokers as clients of brokers: requests to the others, each with a deadline."""

import asyncio
from collections import deque
from typing import Any

from attrs import frozen

from kafka_groups.broker.runtime.led_shard import Done
from kafka_groups.errors import CoordinatorNotAvailableError, KafkaGroupsError
from kafka_groups.net.network import Network
from kafka_groups.net.session import Access, Session, open_session

__all__ = ["PeerNetwork", "Peers"]

REQUEST_TIMEOUT_MS = 5_000
"""The longest time that a broker waits for another one: Kafka's default for writes of share state."""


@frozen
class PeerNetwork:
    """The addresses where the brokers of a cluster listen for each other.

    Attributes:
        network: The network.
        host: The host on which they listen.
        access: The identity with which they connect, apart from the name.
        addresses: Host and port of the brokers that run, by node id.
    """

    network: Network
    host: str
    access: Access
    addresses: dict[int, tuple[str, int]]


@frozen
class _PeerRequest:
    request: object
    done: Done[Any]
    deadline_ms: float


class Peers:
    """The connections of one broker to the others. One is opened with the first request.

    Args:
        node_id: This broker.
        network: The network of the other brokers.
    """

    def __init__(self, node_id: int, network: PeerNetwork) -> None:
        self._network = network
        self._access = Access(f"broker-{node_id}", network.access.login)
        self._peers: dict[int, _Peer] = {}
        self._has_stopped = False

    def __repr__(self) -> str:
        return f"<Peers of {self._access.client_id}: {sorted(self._peers)}>"

    def __len__(self) -> int:
        """Number of connections that are open or being opened."""
        return sum(peer.is_connected for peer in self._peers.values())

    def ask(self, node_id: int, request: object, done: Done[Any]) -> None:
        """Send a request to another broker.

        Args:
            node_id: The other broker.
            request: The request.
            done: Takes the response, or CoordinatorNotAvailableError if none came in time. The other broker may have
                handled the request then. It is not called after `stop`.
        """
        if self._has_stopped:
            return
        peer = self._peers.get(node_id)
        if peer is None:
            peer = self._peers[node_id] = _Peer(node_id, self._network, self._access)
        peer.ask(request, done)

    def stop(self) -> None:
        """Break all connections. Nobody gets an answer any more."""
        self._has_stopped = True
        for peer in self._peers.values():
            peer.stop()
        self._peers.clear()


class _Peer:
    """The connection to one other broker."""

    def __init__(self, node_id: int, network: PeerNetwork, access: Access) -> None:
        self._node_id = node_id
        self._network = network
        self._access = access
        self._session: Session | None = None
        self._opening: asyncio.Task[None] | None = None
        self._waiting: deque[_PeerRequest] = deque()
        self._has_stopped = False

    @property
    def is_connected(self) -> bool:
        return self._opening is not None or (self._session is not None and self._session.connection.is_open)

    def ask(self, request: object, done: Done[Any]) -> None:
        loop = asyncio.get_running_loop()
        question = _PeerRequest(request, done, loop.time() * 1000 + REQUEST_TIMEOUT_MS)
        if self._session is not None and self._session.connection.is_open:
            self._send(self._session, question)
            return
        self._waiting.append(question)
        if self._opening is None:
            self._opening = loop.create_task(self._open(), name=f"{self._access.client_id} to {self._node_id}")

    def stop(self) -> None:
        self._has_stopped = True
        self._waiting.clear()
        if self._opening is not None:
            self._opening.cancel()
        if self._session is not None:
            self._session.connection.abort()

    async def _open(self) -> None:
        error: KafkaGroupsError | TimeoutError | None = None
        try:
            address = self._network.addresses.get(self._node_id)
            if address is None:
                raise CoordinatorNotAvailableError(f"Broker {self._node_id} is down.")
            network = self._network.network
            self._session = await open_session(network, address, self._access, timeout_ms=REQUEST_TIMEOUT_MS)
        except (KafkaGroupsError, TimeoutError) as failure:
            # All that can go wrong with a connection. Each request that waits for it gets an answer of its own.
            error = failure
        finally:
            self._opening = None
        waiting, self._waiting = self._waiting, deque()
        for question in waiting:
            if error is None and self._session is not None:
                self._send(self._session, question)
            else:
                question.done(_unanswered(error))

    def _send(self, session: Session, question: _PeerRequest) -> None:
        def respond(response: object) -> None:
            if not self._has_stopped:
                question.done(response)

        def fail(error: KafkaGroupsError) -> None:
            if not self._has_stopped:
                question.done(_unanswered(error))

        version = session.versions.version_for(type(question.request))
        session.connection.send(question.request, version, respond, fail, question.deadline_ms)


def _unanswered(error: Exception | None) -> CoordinatorNotAvailableError:
    return CoordinatorNotAvailableError(f"The coordinator did not answer: {error}")
