"""Tokens from an identity provider over HTTPS: the request, what is retried, and what each refusal says."""

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.config.security.sasl import OidcSettings, TokenCallback
from kafka_groups.errors import TokenError, TokenUnavailableError
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.net.tokens import Token, TokenSource, token_source
from kafka_groups.protocol.sasl.oauthbearer import unsecured_token
from kafka_groups.testing.clock import ManualClock
from tests.support.certificates import Certificates

SECRET = "the client's secret"

Answer = tuple[int, Mapping[str, Any] | bytes]


class IdentityProvider:
    """A token endpoint with scripted answers.

    Attributes:
        answers: What it answers next; the last one stays.
        requests: Headers and fields of the requests.
    """

    def __init__(self, certificates: Certificates) -> None:
        self.answers: list[Answer] = []
        self.requests: list[tuple[Mapping[str, str], Mapping[str, list[str]]]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                provider.requests.append((dict(self.headers), parse_qs(body)))
                status, answer = provider.answers.pop(0) if len(provider.answers) > 1 else provider.answers[0]
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.end_headers()
                self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.server)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"https://127.0.0.1:{self._server.server_port}/token"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def provider(certificates: Certificates) -> Iterator[IdentityProvider]:
    running = IdentityProvider(certificates)
    yield running
    running.close()


def granted(lifetime_s: float = 600, subject: str = "ann") -> Answer:
    expiry_s = SystemClock().wall_ms() / 1000 + lifetime_s
    token = unsecured_token({"sub": subject, "exp": expiry_s})
    return 200, {"access_token": token, "expires_in": lifetime_s, "token_type": "Bearer"}


def source_at(
    provider: IdentityProvider, certificates: Certificates, clock: Clock | None = None, **changes: Any
) -> TokenSource:
    given = {
        "token_endpoint_url": provider.url,
        "client_id": "me",
        "client_secret": SECRET,
        "ca_location": certificates.ca,
    }
    return token_source(OidcSettings(**(given | changes)), clock or SystemClock())


def test_consumer_with_tokens_of_the_provider(provider: IdentityProvider, certificates: Certificates) -> None:
    provider.answers = [granted()]
    subjects: list[str] = []

    def token_subject(token: str) -> str:
        subjects.append(token)
        return "ann"

    with EmbeddedCluster(security=BrokerSecurity(mechanisms=("OAUTHBEARER",), token_subject=token_subject)) as cluster:
        cluster.create_topic("t")
        with KafkaShareConsumer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "group.id": "g",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "me",
                "sasl.oauthbearer.client.secret": SECRET,
                "sasl.oauthbearer.scope": "kafka read",
                "sasl.oauthbearer.extensions": "logicalCluster=lkc-1",
                "sasl.oauthbearer.token.endpoint.url": provider.url,
                "https.ca.location": certificates.ca,
            }
        ) as consumer:
            consumer.subscribe(["t"])
            while cluster.open_connections < 2:
                consumer.poll(0.1)
    assert len(set(subjects)) == 1  # both connections share the token
    ((headers, fields),) = provider.requests
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode() == f"me:{SECRET}"
    assert fields == {"grant_type": ["client_credentials"], "scope": ["kafka read"]}


async def test_provider_in_trouble_is_asked_again(provider: IdentityProvider, certificates: Certificates) -> None:
    provider.answers = [(503, b"busy"), (429, b""), granted()]
    assert (await source_at(provider, certificates).token()).text
    assert len(provider.requests) == 3


async def test_trouble_that_stays_is_told_and_may_be_tried_again(
    provider: IdentityProvider, certificates: Certificates
) -> None:
    provider.answers = [(503, b"busy")]
    clock = ManualClock()
    source = source_at(provider, certificates, clock)
    for _ in range(2):  # the second time within the pause
        with pytest.raises(TokenUnavailableError, match="responded with 503"):
            await source.token()
    assert len(provider.requests) == 3
    provider.answers = [granted()]
    clock.advance(1_000)
    assert (await source.token()).text


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ((401, {"error": "invalid_client", "error_description": f"wrong: {SECRET}"}), r"401 .*invalid_client: wrong"),
        ((400, b"<html>"), "responded with 400 .*Check the client id, client secret and scope"),
        ((302, b""), "responded with 302"),
        ((200, b"not json"), "is not JSON with access_token"),
        ((200, {"access_token": "x"}), "is not JSON with access_token"),
        ((200, {"access_token": "with blank", "expires_in": 60}), "is not valid"),
        ((200, {"access_token": "x", "expires_in": 0}), "expired"),
    ],
)
async def test_refusal_is_told_once_without_the_secret(
    answer: Answer, complaint: str, provider: IdentityProvider, certificates: Certificates
) -> None:
    provider.answers = [answer]
    with pytest.raises(TokenError, match=complaint) as caught:
        await source_at(provider, certificates).token()
    assert len(provider.requests) == 1
    assert SECRET not in str(caught.value)


async def test_provider_that_is_not_trusted_or_not_there(
    provider: IdentityProvider, certificates: Certificates
) -> None:
    with pytest.raises(TokenError, match=r"not trusted: .*Set https\.ca\.location"):
        await source_at(provider, certificates, ca_location=None).token()
    with pytest.raises(TokenUnavailableError, match="Could not reach the token endpoint"):
        await source_at(provider, certificates, token_endpoint_url="https://127.0.0.1:1/token").token()


async def test_token_is_kept_until_it_grows_old_and_while_the_provider_is_down() -> None:
    clock = ManualClock()
    fetched: list[int] = []
    failures: list[Exception] = []

    async def fetch(now_ms: int) -> Token:
        fetched.append(now_ms)
        if failures:
            raise failures[-1]
        return Token(f"token-{len(fetched)}", now_ms + 10_000)

    source = TokenSource(fetch, clock)
    began_ms = clock.wall_ms()
    texts = []
    for at_ms in (0, 7_999, 8_000, 15_999):
        clock.advance(began_ms + at_ms - clock.wall_ms())
        texts.append((await source.token()).text)
    assert texts == ["token-1", "token-1", "token-2", "token-2"]
    for failure in (TokenUnavailableError("down"), TokenError("what a proxy says")):
        failures.append(failure)
        clock.advance(700)
        for _ in range(3):
            assert (await source.token()).text == "token-2"
        assert source.is_overdue
    clock.advance(2_000)
    with pytest.raises(TokenError, match="what a proxy says"):  # the last reason
        await source.token()
    assert len(fetched) == 5
    failures.clear()
    clock.advance(5_000)
    assert (await source.token()).text == "token-6"
    assert not source.is_overdue


@pytest.mark.parametrize("life_s", [10, -1])
async def test_a_function_that_returns_the_old_token_again_is_an_outage(life_s: int) -> None:
    clock = ManualClock()
    returned = [("first", clock.wall_ms() / 1000 + 10), ("first", clock.wall_ms() / 1000 + life_s)]
    source = token_source(TokenCallback(lambda _: returned.pop(0)), clock)
    assert (await source.token()).text == "first"
    clock.advance(9_000)
    assert (await source.token()).text == "first"
    assert source.is_overdue
    clock.advance(1_000)
    with pytest.raises(TokenUnavailableError):
        await source.token()


async def test_any_exception_of_a_function_that_has_worked_is_an_outage() -> None:
    clock = ManualClock()
    returned = [("first", clock.wall_ms() / 1000 + 10)]
    source = token_source(TokenCallback(lambda _: returned.pop(0)), clock)
    await source.token()
    clock.advance(10_000)
    with pytest.raises(TokenUnavailableError, match="IndexError"):
        await source.token()


@pytest.mark.parametrize(
    ("function", "error", "complaint"),
    [
        (lambda _: (_ for _ in ()).throw(TimeoutError("slow")), TokenUnavailableError, "TimeoutError: slow"),
        (lambda _: (_ for _ in ()).throw(KeyError("x")), TokenError, "oauth_cb raised KeyError"),
        (lambda _: "token", TokenError, "returned a str"),
        (lambda _: ("token", "soon"), TokenError, "expiry of type str"),
        (lambda _: ("token", 4e9, "ann", {"auth": "x"}), TokenError, "invalid SASL extension name 'auth'"),
    ],
)
async def test_functions_that_fail(function: Callable[[str], Any], error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        await token_source(TokenCallback(function), SystemClock()).token()
