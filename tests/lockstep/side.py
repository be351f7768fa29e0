"""One of the two clusters of a run: its connections, the names of the run's topics, and what its answers have told."""

import contextlib
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from typing import Self
from uuid import UUID

from attrs import define, field

from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.net.network import Network
from kafka_groups.protocol.apis import api_of
from kafka_groups.types import member_id_of
from tests.lockstep.classic_members import ClassicState, Labels
from tests.lockstep.consumer_members import ConsumerState
from tests.lockstep.streams_members import StreamsState
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.requests.raw_client import RawClient

UNKNOWN_TOPIC = UUID(int=77)
"""An id that no topic has."""


@define
class MemberState:
    """What a client would remember of a member: its epochs, counted from the answers, and its subscription."""

    member_id: str
    epoch: int = 0
    session_epoch: int = 0
    topics: tuple[str, ...] = ()


@define(eq=False)
class Side:
    """A cluster, and the part of it that belongs to one run.

    Attributes:
        name: What reports call it.
        suffix: Makes the names of topics and groups unique; both sides of a run have the same, so that names need no
            translation. Ids of topics do: `names_of_ids` has them.
        profile: The release that both sides are.
        labels: What this side calls the ids that it gave to members of classic groups.
        classic: The members of classic groups.
        consumers: The members of consumer groups.
        streams: The members of streams groups.
    """

    name: str
    network: Network
    host: str
    port: int
    suffix: str
    profile: Profile = DEFAULT_PROFILE
    members: dict[str, MemberState] = field(factory=dict)
    topics: dict[str, Topic] = field(factory=dict)
    names_of_ids: dict[UUID, str] = field(factory=dict)
    labels: Labels = field(factory=Labels)
    classic: defaultdict[str, ClassicState] = field(factory=lambda: defaultdict(ClassicState))
    consumers: defaultdict[str, ConsumerState] = field(factory=lambda: defaultdict(ConsumerState))
    streams: defaultdict[str, StreamsState] = field(factory=lambda: defaultdict(StreamsState))
    cluster: ClusterClient = field(init=False)
    _clients: dict[str, RawClient] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.cluster = ClusterClient(self.network, self.host, self.port)

    @classmethod
    def at(cls, address: str, name: str, network: Network, suffix: str, profile: Profile) -> Self:
        """The side at `host:port`."""
        host, _, port = address.rpartition(":")
        return cls(name, network, host, int(port), suffix, profile)

    def client(self, of: str) -> RawClient:
        """The connection of a member, or of whoever else."""
        if of not in self._clients:
            self._clients[of] = RawClient(self.network, self.host, self.port)
        return self._clients[of]

    def newest(self, request: object) -> int:
        """The newest version of a request that the release has."""
        served = self.profile.served(api_of(type(request)).key)
        assert served is not None, request
        return served.high

    def member(self, name: str) -> MemberState:
        """The state of a member; its id follows from its name."""
        if name not in self.members:
            digest = hashlib.sha256(f"{name} {self.suffix}".encode()).digest()
            self.members[name] = MemberState(member_id_of(UUID(bytes=digest[:16])))
        return self.members[name]

    def group_id(self, name: str) -> str:
        """The id of a group of this run."""
        return f"{name}-{self.suffix}"

    def topic_name(self, name: str) -> str:
        """The name of a topic of this run."""
        return f"{name}-{self.suffix}"

    def topic_id(self, name: str) -> UUID:
        """The id of a topic of this run, or one that no topic has."""
        topic = self.topics.get(name)
        return UNKNOWN_TOPIC if topic is None else topic.topic_id

    async def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic of this run."""
        topic = await self.cluster.create_topic(partitions, name=self.topic_name(name))
        self.created(name, topic.topic_id)

    def created(self, name: str, topic_id: UUID) -> None:
        """There is a topic of this name now, and it has this id."""
        self.topics[name] = Topic(self.topic_name(name), topic_id)
        again = sum(known.partition("#")[0] == name for known in self.names_of_ids.values())
        self.names_of_ids[topic_id] = f"{name}#{again}"

    async def close(self) -> None:
        """Break the connections."""
        await self.cluster.close()
        for client in self._clients.values():
            await client.disconnect()


@define(eq=False)
class Sides:
    """Both clusters of one run."""

    embedded: Side
    real: Side

    def __iter__(self) -> Iterator[Side]:
        return iter((self.embedded, self.real))


@contextlib.asynccontextmanager
async def closing(sides: Sides) -> AsyncIterator[Sides]:
    """Break all connections in the end."""
    try:
        yield sides
    finally:
        for side in sides:
            await side.close()
