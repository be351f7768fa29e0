"""Each mechanism against its own other end, the vectors of the RFCs, and what must be refused."""

import base64
from collections.abc import Mapping

import pytest

from kafka_groups.protocol.sasl.exchange import ClientExchange, Identity, RejectedError, ServerExchange
from kafka_groups.protocol.sasl.oauthbearer import OAuthClient, OAuthServer, claims_of, unsecured_token
from kafka_groups.protocol.sasl.plain import PlainClient, PlainServer
from kafka_groups.protocol.sasl.scram import (
    MAX_ITERATIONS,
    SCRAM_MECHANISMS,
    ScramClient,
    ScramCredential,
    ScramServer,
    salted_password,
    scram_credential,
)

SECRET = "correct horse, battery=staple"
USERS = {"ann": SECRET, "a,=b": SECRET, "jörg": "①ﬁ\u00a0pässwörd"}  # SASLprep would change this password

# RFC 7677, section 3
RFC_CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO"
RFC_SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
RFC_CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
RFC_SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def credential(mechanism: str, password: str) -> ScramCredential:
    salt = b"a salt for tests"
    return scram_credential(mechanism, salted_password(mechanism, password, salt, 4096), salt, 4096)


def plain(username: str, password: str) -> tuple[ClientExchange, ServerExchange]:
    return PlainClient(username, password), PlainServer(USERS.get)


def scram(mechanism: str, username: str, password: str) -> tuple[ClientExchange, ScramServer]:
    stored = {name: credential(mechanism, known) for name, known in USERS.items()}
    return ScramClient(mechanism, username, password, "client"), ScramServer(mechanism, stored.get, "server")


def run(client: ClientExchange, server: ServerExchange) -> Identity:
    message: bytes | None = client.first()
    while message is not None:
        message = client.respond(server.evaluate(message))
    assert server.identity is not None
    return server.identity


@pytest.mark.parametrize("username", USERS)
@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM_MECHANISMS])
def test_right_password_authenticates(mechanism: str, username: str) -> None:
    ends = plain if mechanism == "PLAIN" else lambda name, password: scram(mechanism, name, password)

    assert run(*ends(username, USERS[username])).name == username


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM_MECHANISMS])
@pytest.mark.parametrize(("username", "password"), [("ann", SECRET + "x"), ("ann", SECRET[:-1]), ("bob", SECRET)])
def test_wrong_password_or_user_is_refused_without_showing_it(mechanism: str, username: str, password: str) -> None:
    client, server = plain(username, password) if mechanism == "PLAIN" else scram(mechanism, username, password)

    with pytest.raises(RejectedError, match=r"(?i)authentication failed") as caught:
        run(client, server)

    assert password not in str(caught.value)
    assert server.identity is None


def test_scram_client_speaks_the_vectors_of_the_rfc() -> None:
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", RFC_CLIENT_NONCE)

    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert client.respond(RFC_SERVER_FIRST) == RFC_CLIENT_FINAL
    assert client.respond(RFC_SERVER_FINAL) is None


def test_scram_server_speaks_the_vectors_of_the_rfc() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    stored = scram_credential("SCRAM-SHA-256", salted_password("SCRAM-SHA-256", "pencil", salt, 4096), salt, 4096)
    server = ScramServer("SCRAM-SHA-256", {"user": stored}.get, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")

    assert server.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == RFC_SERVER_FIRST
    assert server.evaluate(RFC_CLIENT_FINAL) == RFC_SERVER_FINAL
    assert server.identity == Identity("user")


@pytest.mark.parametrize(
    ("server_first", "complaint"),
    [
        (b"r=other,s=c2FsdHNhbHQ=,i=4096", "nonce does not extend"),
        (b"r=client,s=c2FsdHNhbHQ=,i=4096", "nonce does not extend"),
        (b"r=clientserver,s=c2FsdHNhbHQ=,i=4095", "asks for 4095"),
        (f"r=clientserver,s=c2FsdHNhbHQ=,i={MAX_ITERATIONS + 1}".encode(), "1000001"),
        (b"r=clientserver,s=c2FsdHNhbHQ=,i=", "no iteration count"),
        (b"r=clientserver,s=!,i=4096", "not base64"),
        (b"r=clientserver,i=4096", "no salt"),
        (b"r=clientserver,s=c2FsdHNhbHQ=,i=4096,m=x", "extension"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_scram_client_refuses_a_bad_challenge(server_first: bytes, complaint: str) -> None:
    client = ScramClient("SCRAM-SHA-256", "ann", SECRET, "client")
    client.first()

    with pytest.raises(RejectedError, match=complaint):
        client.respond(server_first)


@pytest.mark.parametrize("final", [b"v=c2FsdA==", b"e=invalid-proof", b"", b"v="])
def test_scram_client_refuses_a_broker_that_does_not_know_the_password(final: bytes) -> None:
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", RFC_CLIENT_NONCE)
    client.first()
    client.respond(RFC_SERVER_FIRST)

    with pytest.raises(RejectedError):
        client.respond(final)


@pytest.mark.parametrize(
    "first", [b"y,,n=ann,r=x", b"p=tls-unique,,n=ann,r=x", b"n,a=bob,n=ann,r=x", b"n,,n=ann", b"?"]
)
def test_scram_server_refuses_a_bad_first_message(first: bytes) -> None:
    _, server = scram("SCRAM-SHA-512", "ann", SECRET)

    with pytest.raises(RejectedError):
        server.evaluate(first)


@pytest.mark.parametrize("message", [b"ann\0pw", b"\0ann\0", b"\0\0pw", b"bob\0ann\0" + SECRET.encode(), b"\xff\0a\0b"])
def test_plain_server_refuses_a_malformed_message(message: bytes) -> None:
    with pytest.raises(RejectedError):
        PlainServer(USERS.get).evaluate(message)


# ------------------------------------------------------------------------------------------------- OAUTHBEARER


def validated(token: str) -> Identity:
    if claims_of(token).get("sub") != "ann":
        raise RejectedError("invalid_token")
    return Identity("ann", 5_000)


def test_token_and_extensions_reach_the_broker() -> None:
    extensions: Mapping[str, str] = {"logicalCluster": "lkc-1", "identityPoolId": "pool-1"}

    found = run(OAuthClient(unsecured_token({"sub": "ann"}), extensions), OAuthServer(validated))

    assert found == Identity("ann", 5_000, extensions)


def test_refused_token_takes_a_second_round() -> None:
    client, server = OAuthClient(unsecured_token({"sub": "bob"})), OAuthServer(validated)

    challenge = server.evaluate(client.first())

    assert challenge == b'{"status": "invalid_token"}'
    assert client.respond(challenge) == b"\x01"
    with pytest.raises(RejectedError, match="invalid_token"):
        server.evaluate(b"\x01")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic x\x01\x01",
        b"n,,\x01auth=Bearer x\x01",
        b"\xff",
        b"y,,\x01auth=Bearer x\x01\x01",
    ],
)
def test_malformed_token_message_is_refused(message: bytes) -> None:
    with pytest.raises(RejectedError):
        OAuthServer(validated).evaluate(message)


@pytest.mark.parametrize("token", ["", "with blank", "line\nbreak", "ümlaut", "a\x01b"])
def test_token_that_cannot_be_sent_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(ValueError, match="token is empty or has characters") as caught:
        OAuthClient(token)
    assert not token or token not in str(caught.value)


@pytest.mark.parametrize("extensions", [{"auth": "x"}, {"with-dash": "x"}, {"": "x"}, {"name": "\x01"}])
def test_extension_that_cannot_be_sent_is_refused(extensions: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="extension"):
        OAuthClient("token", extensions)


@pytest.mark.parametrize("token", ["abc", "a.b.c", "a.W10.c"])
def test_what_is_no_json_web_token_has_no_claims(token: str) -> None:
    with pytest.raises(ValueError, match="token"):
        claims_of(token)


def test_no_secret_is_shown() -> None:
    ends = [*plain("ann", SECRET), *scram("SCRAM-SHA-256", "ann", SECRET), OAuthClient("secret-token")]
    shown = " ".join(map(repr, [*ends, credential("SCRAM-SHA-256", SECRET)]))

    assert SECRET not in shown
    assert "secret-token" not in shown
