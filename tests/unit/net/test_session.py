"""Connections that stay authenticated: newer tokens, outages of the identity provider, refusals."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest
from attrs import define, evolve, field

from kafka_groups.broker.api import sasl_authenticate, sasl_handshake
from kafka_groups.broker.api.api_versions import ApiVersionsHandler
from kafka_groups.broker.faults import Faults
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.scheduling.purgatory import Purgatory
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.broker.server import BrokerServer
from kafka_groups.config.cluster.broker import broker_settings
from kafka_groups.errors import (
    AuthenticationError,
    DisconnectedError,
    KafkaGroupsError,
    NetworkError,
    OperationTimeoutError,
    SaslAuthenticationFailedError,
    TokenUnavailableError,
)
from kafka_groups.net.login import LoginAttempt, _TokenLogin, reauthentication_delay_ms
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.session import Access, Session, Watch, open_session
from kafka_groups.net.tokens import Token, TokenSource
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_groups.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_groups.protocol.sasl.oauthbearer import OAuthClient, unsecured_token
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.support.broker.coordinators import parts_of

Program = Callable[["Bench"], Awaitable[None]]


@define(eq=False)
class Bench:
    """A broker that takes tokens, an identity provider, and a client of both, in virtual time.

    Attributes:
        handshakes: When clients began to authenticate.
        lost: Why connections ended.
        is_down: Whether the identity provider is down.
        refuses: Whether the broker takes no more handshakes of authenticated clients.
        answers_after_s: How long the broker takes for each request of metadata.
    """

    sim: Simulation
    life_ms: int
    max_session_ms: int = 0
    handshakes: list[int] = field(factory=list)
    lost: list[KafkaGroupsError | None] = field(factory=list)
    asked: int = 0
    is_down: bool = False
    refuses: bool = False
    answers_after_s: float = 0.0
    network: MemoryNetwork = field(factory=MemoryNetwork)
    login: _TokenLogin = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.login = _TokenLogin("OAUTHBEARER", TokenSource(self._token, self.sim.clock), self.sim.clock)

    async def _token(self, now_ms: int) -> Token:
        self.asked += 1
        if self.is_down:
            raise TokenUnavailableError("the provider is down")
        expires_ms = now_ms + self.life_ms
        return Token(unsecured_token({"sub": "ann", "n": self.asked, "exp": expires_ms / 1000}), expires_ms)

    async def _handshake(self, request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
        self.handshakes.append(self.sim.clock.now_ms())
        if self.refuses:
            return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
        return await sasl_handshake.handle(request, context)

    async def _metadata(self, _request: MetadataRequest, _context: RequestContext) -> MetadataResponse:
        await asyncio.sleep(self.answers_after_s)
        return MetadataResponse()

    def server(self) -> BrokerServer:
        unused: Any = None
        settings = broker_settings({"connections.max.reauth.ms": self.max_session_ms})
        parts = parts_of(ClusterMetadata(random.Random(0)), clock=self.sim.clock)
        cluster = evolve(
            parts, faults=Faults(), settings=settings, security=BrokerSecurity(mechanisms=("OAUTHBEARER",))
        )
        broker = BrokerParts(1, cluster, unused, unused, unused)
        services = BrokerServices(broker, unused, unused, Purgatory(self.sim.clock), self.sim.rng)
        handlers: dict[ApiKey, Callable[[Any, RequestContext], Awaitable[Any]]] = {
            ApiKey.METADATA: self._metadata,
            ApiKey.SASL_HANDSHAKE: self._handshake,
            ApiKey.SASL_AUTHENTICATE: sasl_authenticate.handle,
        }
        return BrokerServer(services, {**handlers, ApiKey.API_VERSIONS: ApiVersionsHandler(handlers)})

    async def open(self) -> Session:
        watch = Watch(on_lost=self.lost.append)
        access = Access("me", self.login)
        return await open_session(self.network, ("broker", 9092), access, timeout_ms=5_000, watch=watch)

    async def asks_until(self, session: Session, end_ms: int) -> None:
        """Ask twice a second, as long as the connection lasts."""
        while self.sim.clock.now_ms() < end_ms and session.connection.is_open:
            await session.connection.request(MetadataRequest(), 12, self.sim.clock.now_ms() + 5_000)
            await asyncio.sleep(0.5)


def simulated(program: Program, *, life_ms: int, max_session_ms: int = 0) -> None:
    async def run(sim: Simulation) -> None:
        bench = Bench(sim, life_ms, max_session_ms)
        server = bench.server()
        await server.start(bench.network, "broker", 9092)
        await program(bench)
        await server.stop()
        assert all(later - earlier >= 2_000 for earlier, later in pairwise(bench.handshakes))

    run_simulated(run, 1)


def test_newer_tokens_keep_the_connection() -> None:
    async def program(bench: Bench) -> None:
        session, begin_ms = await bench.open(), bench.sim.clock.now_ms()
        await bench.asks_until(session, begin_ms + 60_000)
        assert session.connection.is_open
        assert len(bench.handshakes) == bench.asked >= 7

    simulated(program, life_ms=8_000)


def test_a_token_of_less_than_two_seconds_is_for_one_connection() -> None:
    async def program(bench: Bench) -> None:
        session = await bench.open()
        with pytest.raises(DisconnectedError):
            await bench.asks_until(session, bench.sim.clock.now_ms() + 10_000)
        assert len(bench.handshakes) == 1

    simulated(program, life_ms=1_500)


def test_an_outage_that_ends_before_the_token_keeps_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def program(bench: Bench) -> None:
        session, begin_ms = await bench.open(), bench.sim.clock.now_ms()
        bench.is_down = True
        await bench.asks_until(session, begin_ms + 190_100)
        assert "the old one is valid for another" in caplog.text
        bench.is_down = False
        await bench.asks_until(session, begin_ms + 400_000)
        assert session.connection.is_open
        assert not bench.lost
        assert len(bench.handshakes) >= 3

    simulated(program, life_ms=200_000)


def test_an_outage_that_outlasts_the_token_ends_the_connection_and_not_the_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The broker closes the connection; others are refused for want of a token, and none is a wrong configuration."""

    async def program(bench: Bench) -> None:
        session, begin_ms = await bench.open(), bench.sim.clock.now_ms()
        bench.is_down = True
        with pytest.raises(DisconnectedError):
            await bench.asks_until(session, begin_ms + 20_000)
        assert 8_000 <= bench.sim.clock.now_ms() - begin_ms < 9_000
        assert [isinstance(error, AuthenticationError) for error in bench.lost] == [False]
        asked = bench.asked
        while bench.sim.clock.now_ms() - begin_ms < 60_000:
            with pytest.raises(TokenUnavailableError, match="the provider is down"):
                await bench.open()
            await asyncio.sleep(0.1)
        assert bench.asked - asked < 15  # however often connections are tried
        assert caplog.text.count("Could not obtain a new OAUTHBEARER token") < 6
        bench.is_down = False
        await asyncio.sleep(7)
        assert (await bench.open()).connection.is_open
        assert len(bench.handshakes) == 2

    caplog.set_level("INFO", "kafka_groups")
    simulated(program, life_ms=8_000)
    assert "Obtained a new OAUTHBEARER token" in caplog.text


def test_a_session_that_is_shorter_than_the_token_is_renewed_with_the_same_token() -> None:
    async def program(bench: Bench) -> None:
        session, begin_ms = await bench.open(), bench.sim.clock.now_ms()
        await bench.asks_until(session, begin_ms + 60_000)
        assert session.connection.is_open
        assert bench.asked == 1
        assert len(bench.handshakes) >= 10

    simulated(program, life_ms=600_000, max_session_ms=5_000)


def test_a_request_that_waits_in_the_broker_for_longer_than_handshakes_may_take_is_answered() -> None:
    """As a JoinGroup does. Another request is held back meanwhile, and sent when the session has been renewed."""

    async def program(bench: Bench) -> None:
        session, begin_ms = await bench.open(), bench.sim.clock.now_ms()
        bench.answers_after_s = 15.0
        waiting = asyncio.ensure_future(session.connection.request(MetadataRequest(), 12, begin_ms + 30_000))
        await asyncio.sleep(14)
        held = asyncio.ensure_future(session.connection.request(MetadataRequest(), 12, begin_ms + 60_000))
        await waiting
        assert bench.sim.clock.now_ms() - begin_ms == 15_000
        await held
        assert session.connection.is_open
        assert len(bench.handshakes) >= 2

    simulated(program, life_ms=600_000, max_session_ms=5_000)


def test_a_broker_that_answers_nothing_any_more_is_left_although_it_has_to_authenticate() -> None:
    async def program(bench: Bench) -> None:
        session, begin_ms = await bench.open(), bench.sim.clock.now_ms()
        bench.answers_after_s = 100.0
        with pytest.raises(OperationTimeoutError):
            await session.connection.request(MetadataRequest(), 12, begin_ms + 10_000)
        assert bench.sim.clock.now_ms() - begin_ms == 10_000

    simulated(program, life_ms=600_000, max_session_ms=5_000)


def test_a_refused_handshake_of_an_authenticated_connection_is_no_wrong_configuration() -> None:
    async def program(bench: Bench) -> None:
        session = await bench.open()
        bench.refuses = True
        with suppress(DisconnectedError):
            await bench.asks_until(session, bench.sim.clock.now_ms() + 60_000)
        (error,) = bench.lost
        assert isinstance(error, NetworkError)
        assert not isinstance(error, AuthenticationError)
        assert "did not let the client authenticate again" in str(error)
        bench.refuses = False
        await asyncio.sleep(2)
        assert (await bench.open()).connection.is_open

    simulated(program, life_ms=8_000)


@pytest.mark.parametrize(
    ("is_overdue", "error"), [(True, TokenUnavailableError), (False, SaslAuthenticationFailedError)]
)
def test_a_refused_token_is_an_outage_if_no_newer_one_could_be_obtained(
    is_overdue: bool, error: type[KafkaGroupsError]
) -> None:
    """For the broker's clock it has expired."""

    async def program(bench: Bench) -> None:
        with _old_tokens(bench, is_overdue), pytest.raises(error, match="refused the login"):
            await bench.open()

    simulated(program, life_ms=8_000)


@contextmanager
def _old_tokens(bench: Bench, is_overdue: bool) -> Iterator[None]:
    async def begin() -> LoginAttempt:
        text = unsecured_token({"sub": "ann", "exp": bench.sim.clock.wall_ms() / 1000 - 1})
        return LoginAttempt(OAuthClient(text, {}), Token(text, 0), 1, is_overdue)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.login, "begin", begin)
        yield


def test_sessions_are_renewed_late_and_never_within_two_seconds() -> None:
    rng = random.Random(1)
    assert all(85_000 <= reauthentication_delay_ms(100_000, rng) <= 95_000 for _ in range(100))
    assert {reauthentication_delay_ms(life_ms, rng) for life_ms in (1, 500, 2_000)} == {2_000}
