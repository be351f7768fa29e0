"""What one cluster is asked in a run of a classic group: requests may wait, each on a connection of its own."""

import asyncio
from typing import Any

from attrs import define, field

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.join_group import JoinGroupResponse
from tests.lockstep.answers import fields_of
from tests.lockstep.classic_steps import DescribeClassicGroup
from tests.lockstep.side import Side
from tests.lockstep.steps import Step
from tests.support.requests.raw_client import RawClient

_PATIENCE_S = 600.0
_OBSERVER = "observer"


@define(eq=False)
class Asked:
    """A request that was sent.

    Attributes:
        number: How many requests were sent before it.
        step: The step that it belongs to.
        request: The request.
        client: Its connection, on which nothing else is sent until the response is there.
        response: The response to come.
    """

    number: int
    step: Step
    request: Any
    client: RawClient
    response: "asyncio.Task[Any]"

    @property
    def member_id(self) -> str:
        """The member id in the request, or nothing."""
        return str(getattr(self.request, "member_id", ""))


@define(eq=False)
class Conversation:
    """Requests and responses of one side.

    Attributes:
        side: The side.
        waiting: Requests that wait for their responses, in the order in which they were sent.
        answered: Those that have been answered since the last call of `accept`.
        described: What DescribeGroups showed last.
    """

    side: Side
    waiting: list[Asked] = field(factory=list)
    answered: list[Asked] = field(factory=list)
    described: Any = None
    _sent: int = 0
    _leader: str = ""
    _clients: list[RawClient] = field(factory=list)
    _idle: dict[str, list[RawClient]] = field(factory=dict)

    def send(self, step: Step) -> None:
        """Send a request, over an idle connection of its client or a new one."""
        request = step.request(self.side)
        version = self.side.newest(request) if step.version is None else step.version
        client = self._client(step.by)
        response = asyncio.create_task(client.ask(request, version))
        self.waiting.append(Asked(self._sent, step, request, client, response))
        self._sent += 1
        self.side.classic[step.by].waiting += 1

    async def look(self) -> dict[str, object]:
        """All that can be seen now: responses, what still waits, and what the group looks like."""
        question = DescribeClassicGroup()
        client = self._client(_OBSERVER)
        response = await client.ask(question.request(self.side))
        self._idle[_OBSERVER] = [client]
        [self.described] = response.groups
        self._collect()
        seen = fields_of(response, self.side)
        for number, asked in enumerate(self.answered):
            earlier = sum(each.step.by == asked.step.by for each in self.answered[:number])
            fields = fields_of(asked.response.result(), self.side)
            seen |= {f"{asked.step.by}[{earlier}] {path}": value for path, value in fields.items()}
        return seen | {"waiting": [f"{each.step.by} {type(each.request).__name__}" for each in self.waiting]}

    def accept(self) -> list[tuple[Step, Any]]:
        """Let clients remember what responses say, and return the latter."""
        accepted, self.answered = self.answered, []
        for asked in accepted:
            self.side.classic[asked.step.by].waiting -= 1
            asked.step.note(self.side, asked.response.result())
            self._idle.setdefault(asked.step.by, []).append(asked.client)
            self._follow_leader(asked)
        return [(asked.step, asked.response.result()) for asked in accepted]

    @property
    def leader(self) -> str:
        """Member id of the leader, or nothing if it is not known. A static leader keeps leading after a restart."""
        instance = self.side.labels.of(self._leader).partition("#")[0]
        return next((each.member_id for each in self._members if each.group_instance_id == instance), self._leader)

    async def give_up(self, asked: Asked) -> None:
        """Break the connection on which a request waits."""
        self.waiting.remove(asked)
        self.side.classic[asked.step.by].waiting -= 1
        await asked.client.disconnect()
        await asyncio.gather(asked.response, return_exceptions=True)

    async def close(self) -> None:
        """Break all connections."""
        for client in self._clients:
            await client.disconnect()
        await asyncio.gather(*(each.response for each in self.waiting), return_exceptions=True)

    @property
    def _members(self) -> tuple[Any, ...]:
        return tuple(self.described.members)

    def _follow_leader(self, asked: Asked) -> None:
        response = asked.response.result()
        if isinstance(response, JoinGroupResponse) and response.error_code is ErrorCode.NONE:
            self._leader = response.leader
        if self.leader not in {each.member_id for each in self._members}:
            self._leader = ""

    def _collect(self) -> None:
        done = [each for each in self.waiting if each.response.done()]
        self.waiting = [each for each in self.waiting if each not in done]
        self.answered = sorted(self.answered + done, key=lambda each: each.number)

    def _client(self, name: str) -> RawClient:
        idle = self._idle.setdefault(name, [])
        if idle:
            return idle.pop()
        client = RawClient(self.side.network, self.side.host, self.side.port, name, _PATIENCE_S)
        self._clients.append(client)
        return client
