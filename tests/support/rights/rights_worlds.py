"""The clusters that requests about rights are sent to: the embedded broker and releases of Kafka, with SASL PLAIN."""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import pytest

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.authorizer import Authorizer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import Network
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kafka_groups.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_groups.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_groups.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_groups.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_groups.testing.kafka_process import QUICK_START, KafkaProcess
from tests.support.conditions import until
from tests.support.requests.raw_client import RawClient
from tests.support.rights.recorded_rights import Asked, Right, type_named
from tests.support.rights.rights_scene import RightsScene
from tests.support.targets import EMBEDDED_PROPERTIES

__all__ = ["EmbeddedRights", "KafkaRights", "embedded_rights", "kafka_rights"]

USER = "User:ann"
_USERS = {"admin": "admin's secret", "ann": "ann's secret"}
_HANDSHAKE_VERSION, _AUTHENTICATE_VERSION = 1, 2
_SETTINGS = {"auto.create.topics.enable": "false", "super.users": "User:admin;User:ANONYMOUS"}
_KAFKA_QUIET_S, _EMBEDDED_QUIET_S = 5.0, 0.3
_NO_SETTINGS: Mapping[str, object] = MappingProxyType({})
_HARDCODE = "hardcode"
"""The name that Kafka asks about first, if a right on any resource of a type suffices."""

_ALL_OF_THE_USER: Mapping[str, Any] = {
    "resource_type_filter": AclResourceType.ANY,
    "pattern_type_filter": AclPatternType.ANY,
    "principal_filter": USER,
    "operation": AclOperation.ANY,
    "permission_type": AclPermission.ANY,
}


class _Clients:
    """Connections of users to one broker. A connection that the broker closed is opened again."""

    def __init__(self, network: Network, address: str) -> None:
        self.address = address
        host, _, port = address.rpartition(":")
        self._new: Callable[[], RawClient] = lambda: RawClient(network, host, int(port), negotiates=True)
        self._by_user: dict[str, RawClient] = {}

    async def newest(self, user: str, request: object, default: int) -> int:
        return (await self._client(user)).broker_newest(type(request), default)

    async def _client(self, user: str) -> RawClient:
        if user not in self._by_user:
            client = self._by_user[user] = self._new()
            await self._log_in(user, client)
        return self._by_user[user]

    async def ask(self, user: str, request: object, version: int | None = None) -> Any:
        client = await self._client(user)
        try:
            return await client.ask(request, version)
        except BaseException:
            await self._by_user.pop(user).disconnect()
            raise

    async def _log_in(self, user: str, client: RawClient) -> None:
        handshake = await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), _HANDSHAKE_VERSION)
        assert not handshake.error_code, handshake
        login = f"\0{user}\0{_USERS[user]}".encode()
        authenticated = await client.ask(SaslAuthenticateRequest(auth_bytes=login), _AUTHENTICATE_VERSION)
        assert not authenticated.error_code, authenticated

    async def close(self) -> None:
        for client in self._by_user.values():
            await client.disconnect()


class _World:
    """What both kinds of clusters have: a scene, and a user."""

    def __init__(self, clients: _Clients) -> None:
        self.clients = clients
        self.scene = RightsScene(self.ask_as_admin)

    def keys(self, user: str = "ann") -> dict[str, str]:
        """The configuration of a client."""
        return {
            "bootstrap_servers": self.clients.address,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_username": user,
            "sasl_password": _USERS[user],
        }

    async def ask_as_admin(self, request: object, version: int | None = None) -> Any:
        """Send a request of the super user."""
        return await self.clients.ask("admin", request, version)

    async def ask(self, request: object, version: int) -> Any:
        """Send a request as the user, in an older version if the broker is older."""
        return await self.clients.ask("ann", request, min(version, await self.clients.newest("ann", request, version)))


class EmbeddedRights(_World):
    """The embedded broker. What its authorizer is asked about the user is noted."""

    def __init__(self, cluster: EmbeddedCluster, clients: _Clients, questions: list[Asked]) -> None:
        super().__init__(clients)
        self._cluster = cluster
        self._questions = questions
        self._granted: tuple[AclBinding, ...] = ()

    async def grant(self, rights: Sequence[Right]) -> None:
        """Let the user have exactly these rights."""
        granted = tuple(_binding(*right) for right in rights)
        lost = tuple(each for each in self._granted if each not in granted)
        self._cluster.metadata.change_acls(granted, lost)
        self._granted = granted
        self._questions.clear()

    async def asked(self, expected: int) -> Sequence[Asked]:
        """Return what was asked, each question once."""

        async def questions() -> Sequence[Asked]:
            return tuple(dict.fromkeys(self._questions))

        return await _settled(questions, expected, _EMBEDDED_QUIET_S)


class KafkaRights(_World):
    """A real Kafka. The log of its authorizer is read."""

    def __init__(self, kafka: KafkaProcess, clients: _Clients) -> None:
        super().__init__(clients)
        self._kafka = kafka
        self._begin = 0

    async def grant(self, rights: Sequence[Right]) -> None:
        """Let the user have exactly these rights, and wait until the broker has them."""
        await self.ask_as_admin(DeleteAclsRequest(filters=(DeleteAclsFilter(**_ALL_OF_THE_USER),)))
        if rights:
            created = await self.ask_as_admin(CreateAclsRequest(creations=tuple(_creation(*right) for right in rights)))
            assert not any(each.error_code for each in created.results), created
        await until(self._number_of_acls, lambda found: found == len(set(rights)))
        self._begin = len(self._lines())

    async def asked(self, expected: int) -> Sequence[Asked]:
        """Return what was asked, each question once."""

        async def questions() -> Sequence[Asked]:
            return tuple(dict.fromkeys(asked_in(self._lines()[self._begin :])))

        return await _settled(questions, expected, _KAFKA_QUIET_S)

    async def _number_of_acls(self) -> int:
        described = await self.ask_as_admin(DescribeAclsRequest(**_ALL_OF_THE_USER))
        return sum(len(resource.acls) for resource in described.resources)

    def _lines(self) -> list[str]:
        return self._kafka.log_tail(1_000_000).splitlines()


async def _settled(questions: Callable[[], Any], expected: int, patience_s: float) -> Sequence[Asked]:
    """Wait for as many questions as are expected: Kafka asks some after the response."""
    try:
        found: Sequence[Asked] = await until(questions, lambda asked: len(asked) >= expected, patience_s)
    except AssertionError:
        found = await questions()
    return found


_LOGGED = re.compile(
    r"Principal = (?P<user>\S+) is (?P<answer>Allowed|Denied) operation = (?P<operation>\S+) from host = \S+ "
    r"on resource = (?P<type>\w+):LITERAL:(?P<name>\S*) for request"
)


def asked_in(lines: Iterable[str]) -> Iterable[Asked]:
    """Yield the questions about the user in the log of Kafka's authorizer."""
    for line in lines:
        found = _LOGGED.search(line)
        if found is not None and found["user"] == USER:
            operation, kind = AclOperation[found["operation"]], type_named(found["type"])
            yield operation, kind, found["name"], found["answer"] == "Allowed"


def _pattern(name: str) -> tuple[str, AclPatternType]:
    """Return what a name stands for: with a star at its end, all names that begin so."""
    if name.endswith("*"):
        return name.removesuffix("*"), AclPatternType.PREFIXED
    return name, AclPatternType.LITERAL


def _binding(operation: AclOperation, kind: AclResourceType, name: str) -> AclBinding:
    return AclBinding(kind, *_pattern(name), USER, "*", operation, AclPermission.ALLOW)


def _creation(operation: AclOperation, kind: AclResourceType, name: str) -> AclCreation:
    resource_name, pattern_type = _pattern(name)
    return AclCreation(
        resource_type=kind,
        resource_name=resource_name,
        resource_pattern_type=pattern_type,
        principal=USER,
        host="*",
        operation=operation,
        permission_type=AclPermission.ALLOW,
    )


def _note_questions(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    questions: list[Asked] = []
    is_allowed, is_allowed_on_any = Authorizer.is_allowed, Authorizer.is_allowed_on_any

    def noted(self: Authorizer, principal: str, host: str, *asked: Any) -> bool:
        answer = is_allowed(self, principal, host, *asked)
        if principal == USER:
            questions.append((*asked, answer))
        return answer

    def noted_on_any(self: Authorizer, principal: str, host: str, *asked: Any) -> bool:
        answer = is_allowed_on_any(self, principal, host, *asked)
        if principal == USER:
            questions.append((*asked, _HARDCODE, answer))
        return answer

    def noted_names(
        self: Authorizer,
        principal: str,
        host: str,
        operation: AclOperation,
        kind: AclResourceType,
        names: Iterable[str],
    ) -> list[str]:
        return [name for name in names if noted(self, principal, host, operation, kind, name)]

    monkeypatch.setattr(Authorizer, "is_allowed", noted)
    monkeypatch.setattr(Authorizer, "allowed_names", noted_names)
    monkeypatch.setattr(Authorizer, "is_allowed_on_any", noted_on_any)
    return questions


@asynccontextmanager
async def embedded_rights(
    monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, object] = _NO_SETTINGS, network: Network | None = None
) -> AsyncIterator[EmbeddedRights]:
    """Run an embedded broker with an authorizer and a prepared scene, in memory unless a network is given."""
    network = network or MemoryNetwork()
    questions = _note_questions(monkeypatch)
    security = BrokerSecurity(mechanisms=("PLAIN",), users=_USERS)
    given = {**EMBEDDED_PROPERTIES, **_SETTINGS, **settings}
    async with EmbeddedCluster(network=network, settings=given, security=security, acls=()) as cluster:
        monkeypatch.setattr(cluster.logs, "_next_producer_id", 0)  # as in a new Kafka, and in the requests
        clients = _Clients(network, cluster.bootstrap_servers)
        world = EmbeddedRights(cluster, clients, questions)
        await world.scene.prepare()
        yield world
        await clients.close()


@asynccontextmanager
async def kafka_rights(version: str) -> AsyncIterator[KafkaRights]:
    """Run a real Kafka with StandardAuthorizer and a prepared scene."""
    users = " ".join(f'user_{name}="{secret}"' for name, secret in _USERS.items())
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    properties = {
        **_SETTINGS,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f"{module} required {users};",
    }
    options = (*QUICK_START, "-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=trace")
    with KafkaProcess(version, properties, listeners={"SASL": "SASL_PLAINTEXT"}, java_options=options) as kafka:
        clients = _Clients(TcpNetwork(), kafka.address("SASL"))
        world = KafkaRights(kafka, clients)
        await world.scene.prepare()
        yield world
        await clients.close()
