"""The configuration keys for TLS and SASL, under the names of Kafka's Java client and of confluent-kafka."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.readers import (
    PATH_ANNOTATION,
    UnfitError,
    read_endpoint_identification,
    read_path,
    read_text,
    read_upper_case,
)
from kafka_groups.config.security.jaas import read_jaas
from kafka_groups.errors import ConfigurationError

__all__ = ["SASL_KEYS", "TLS_KEYS", "check_tls", "from_java"]

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

_OPTIONAL_PATH = f"{PATH_ANNOTATION} | None"
_text = functools.partial(Key, type=KeyType.STRING)
_secret = functools.partial(Key, type=KeyType.PASSWORD, default=None)


def read_exactly(value: object) -> str:
    """Text as it is: a password may begin or end with blanks."""
    if not isinstance(value, str):
        raise UnfitError("it is not a string")
    return value


def read_function(value: object) -> object:
    """Read a function, which may be `async`."""
    if not callable(value):
        raise UnfitError("it cannot be called")
    return value


def read_pem(value: object) -> str:
    """Text in PEM; what is in it shows when it is used."""
    text = read_text(value).replace("\\n", "\n")
    if "-----BEGIN " not in text:
        raise UnfitError("it has no line '-----BEGIN …-----'; a path belongs in the key that ends in .location")
    return text


def read_url(value: object) -> str:
    """Read the address of a token endpoint."""
    url = read_text(value)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UnfitError("it is not a URL that begins with https:// (or http://)")
    if parts.username or parts.password:
        raise UnfitError("it contains a user name or password; use the client id and secret instead")
    return url


def read_extensions(value: object) -> tuple[tuple[str, str], ...]:
    """SASL extensions: `name=value,name=value`, or a mapping."""
    if isinstance(value, Mapping):
        pairs: Iterable[tuple[object, object]] = value.items()
    elif isinstance(value, tuple):
        pairs = value
    else:
        parts = (part.partition("=") for part in read_text(value).split(",") if part.strip())
        pairs = [(name, text if equals else None) for name, equals, text in parts]
    try:
        return tuple((read_text(name), read_text(text)) for name, text in pairs)
    except UnfitError:
        raise UnfitError("it is not of the form name=value,name=value") from None


SECURITY_PROTOCOL = _text(
    name="security.protocol",
    default="PLAINTEXT",
    reader=read_upper_case,
    choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    doc="How to connect: SSL encrypts with TLS, SASL_… also authenticates with SASL.",
)
SSL_CA_LOCATION = _text(
    name="ssl.ca.location",
    default=None,
    reader=read_path,
    annotation=_OPTIONAL_PATH,
    doc="A PEM file with the certificates to trust; the system's own by default.",
)
SSL_CA_PEM = _text(
    name="ssl.ca.pem",
    default=None,
    reader=read_pem,
    form="text in PEM",
    doc="The certificates to trust, as text instead of a file.",
    aliases=("ssl.truststore.certificates",),
)
SSL_CERTIFICATE_LOCATION = _text(
    name="ssl.certificate.location",
    default=None,
    reader=read_path,
    annotation=_OPTIONAL_PATH,
    doc="A PEM file with the client's certificate chain.",
)
SSL_CERTIFICATE_PEM = _text(
    name="ssl.certificate.pem",
    default=None,
    reader=read_pem,
    form="text in PEM",
    doc="The client's certificate chain, as text instead of a file.",
    aliases=("ssl.keystore.certificate.chain",),
)
SSL_KEY_LOCATION = _text(
    name="ssl.key.location",
    default=None,
    reader=read_path,
    annotation=_OPTIONAL_PATH,
    doc="A PEM file with the private key of the client's certificate.",
)
SSL_KEY_PEM = _secret(
    name="ssl.key.pem",
    reader=read_pem,
    form="text in PEM",
    doc="The private key of the client's certificate, as text instead of a file.",
    aliases=("ssl.keystore.key",),
)
SSL_KEY_PASSWORD = _secret(name="ssl.key.password", reader=read_exactly, doc="The password of the private key.")
SSL_ENDPOINT_IDENTIFICATION_ALGORITHM = _text(
    name="ssl.endpoint.identification.algorithm",
    default="https",
    reader=read_endpoint_identification,
    choices=("https", "none"),
    doc="Whether the broker's certificate must be for its host name (https) or not (none, or empty).",
)
SASL_MECHANISM = _text(
    name="sasl.mechanism",
    default=None,
    reader=read_upper_case,
    choices=MECHANISMS,
    doc="How to authenticate, if the security protocol is SASL_PLAINTEXT or SASL_SSL.",
    aliases=("sasl.mechanisms",),
)
SASL_USERNAME = _text(name="sasl.username", default=None, reader=read_exactly, doc="The user name for PLAIN and SCRAM.")
SASL_PASSWORD = _secret(name="sasl.password", reader=read_exactly, doc="The password for PLAIN and SCRAM.")
SASL_JAAS_CONFIG = _secret(
    name="sasl.jaas.config",
    reader=read_jaas,
    form='\'…PlainLoginModule required username="…" password="…";\', or the same with ScramLoginModule or '
    "OAuthBearerLoginModule",
    doc="The credentials as a Java client takes them: PlainLoginModule or ScramLoginModule with username and password, "
    "or OAuthBearerLoginModule with clientId, clientSecret, scope and extension_….",
)
OAUTH_CB = Key(
    name="oauth_cb",
    type=KeyType.CLASS,
    default=None,
    reader=read_function,
    form="a function that returns (token, expiry in seconds since the epoch), and optionally the principal and "
    "SASL extensions",
    annotation="Callable[[str], object] | None",
    doc="Returns a token for OAUTHBEARER; may be `async`. It gets the text of sasl.oauthbearer.config, and returns the "
    "token, when it expires in seconds since the epoch, and optionally the principal and SASL extensions.",
)
SASL_OAUTHBEARER_CONFIG = _text(
    name="sasl.oauthbearer.config", default="", doc="Text that is passed to the function in oauth_cb."
)
SASL_OAUTHBEARER_METHOD = _text(
    name="sasl.oauthbearer.method",
    default="default",
    choices=("default", "oidc"),
    doc="Where tokens come from: oauth_cb (default), or the token endpoint of an identity provider (oidc).",
)
SASL_OAUTHBEARER_CLIENT_ID = _text(
    name="sasl.oauthbearer.client.id",
    default=None,
    reader=read_exactly,
    doc="The client id for the token endpoint.",
    aliases=("sasl.oauthbearer.client.credentials.client.id",),
)
SASL_OAUTHBEARER_CLIENT_SECRET = _secret(
    name="sasl.oauthbearer.client.secret",
    reader=read_exactly,
    doc="The client secret for the token endpoint.",
    aliases=("sasl.oauthbearer.client.credentials.client.secret",),
)
SASL_OAUTHBEARER_SCOPE = _text(name="sasl.oauthbearer.scope", default=None, doc="The scope to request, if any.")
SASL_OAUTHBEARER_EXTENSIONS = Key(
    name="sasl.oauthbearer.extensions",
    type=KeyType.LIST,
    default=(),
    reader=read_extensions,
    form="name=value,name=value",
    annotation="str | Mapping[str, str] | tuple[tuple[str, str], ...]",
    doc="SASL extensions to send with the token, such as logicalCluster=lkc-…,identityPoolId=pool-….",
)
SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL = _text(
    name="sasl.oauthbearer.token.endpoint.url",
    default=None,
    reader=read_url,
    form="a URL that begins with https://",
    doc="The token endpoint of the identity provider (OAuth 2.0 client credentials).",
)
SASL_OAUTHBEARER_HEADER_URLENCODE = Key(
    name="sasl.oauthbearer.header.urlencode",
    type=KeyType.BOOLEAN,
    default=False,
    doc="Whether client id and secret are URL-encoded before they are sent, as RFC 6749 asks and few providers need.",
)
HTTPS_CA_LOCATION = _text(
    name="https.ca.location",
    default=None,
    reader=read_path,
    annotation=_OPTIONAL_PATH,
    doc="A PEM file with the certificates to trust at the token endpoint; the system's own by default.",
)

TLS_KEYS: Mapping[str, Key] = {
    "ssl_ca_location": SSL_CA_LOCATION,
    "ssl_ca_pem": SSL_CA_PEM,
    "ssl_certificate_location": SSL_CERTIFICATE_LOCATION,
    "ssl_certificate_pem": SSL_CERTIFICATE_PEM,
    "ssl_key_location": SSL_KEY_LOCATION,
    "ssl_key_pem": SSL_KEY_PEM,
    "ssl_key_password": SSL_KEY_PASSWORD,
}
"""The keys that only make sense with TLS, by attribute."""

SASL_KEYS: Mapping[str, Key] = {
    "sasl_mechanism": SASL_MECHANISM,
    "sasl_username": SASL_USERNAME,
    "sasl_password": SASL_PASSWORD,
    "sasl_jaas_config": SASL_JAAS_CONFIG,
    "oauth_cb": OAUTH_CB,
    "sasl_oauthbearer_client_id": SASL_OAUTHBEARER_CLIENT_ID,
    "sasl_oauthbearer_client_secret": SASL_OAUTHBEARER_CLIENT_SECRET,
    "sasl_oauthbearer_scope": SASL_OAUTHBEARER_SCOPE,
    "sasl_oauthbearer_token_endpoint_url": SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL,
}
"""The keys that only make sense with SASL, by attribute."""


def check_tls(config: Any) -> None:
    """Check the keys for TLS against each other.

    Raises:
        ConfigurationError: Such a key is set although TLS is off, a certificate is without its key (or the reverse),
            or the same thing is given both as a file and as text.
    """
    given = [name for name in TLS_KEYS if getattr(config, name) is not None]
    if given and config.security_protocol not in ("SSL", "SASL_SSL"):
        raise ConfigurationError(
            f"{_named(given[0])} is set, but security_protocol (security.protocol) is {config.security_protocol!r}, "
            "so nothing would be encrypted; set security_protocol to 'SSL' or 'SASL_SSL', or remove the ssl keys"
        )
    for name in ("ssl_ca", "ssl_certificate", "ssl_key"):
        both = [f"{name}_location", f"{name}_pem"]
        if set(both) <= set(given):
            raise ConfigurationError(f"{_named(both[0])} and {_named(both[1])} are both set; remove one of them")
    certificate, key = (_given(config, f"ssl_{kind}") for kind in ("certificate", "key"))
    if certificate != key:
        missing, there = ("ssl_key", "ssl_certificate") if certificate else ("ssl_certificate", "ssl_key")
        raise ConfigurationError(
            f"{_named(f'{missing}_location')} is missing: a client certificate needs its private key and the key its "
            f"certificate; set {missing}_location or {missing}_pem, or remove {there}"
        )


def _given(config: Any, name: str) -> bool:
    return getattr(config, f"{name}_location") is not None or getattr(config, f"{name}_pem") is not None


def _named(attribute: str) -> str:
    return f"{attribute} ({TLS_KEYS[attribute].name})"


# ------------------------------------------------------------------------------------- what only Java writes

_STORES: Mapping[str, tuple[str, ...]] = {
    "ssl.truststore": ("ssl.ca.location",),
    "ssl.keystore": ("ssl.certificate.location", "ssl.key.location"),
}
_OIDC_HANDLER = "OAuthBearerLoginCallbackHandler"
_HANDLER = "sasl.login.callback.handler.class"


def from_java(given: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
    """Translate keys that only Java's client has: stores of type PEM, and the callback handler for OIDC.

    What cannot be translated stays as it is.
    """
    pairs = list(given)
    pem = {store for store in _STORES for name, value in pairs if _dotted(name) == f"{store}.type" and _is_pem(value)}
    return [translated for pair in pairs for translated in _translated(*pair, pem)]


def _translated(name: str, value: object, pem: set[str]) -> list[tuple[str, object]]:
    dotted = _dotted(name)
    store, _, part = dotted.rpartition(".")
    if store in pem and part in ("location", "type"):
        return [(new, value) for new in _STORES[store]] if part == "location" else []
    if dotted == _HANDLER and str(value).rpartition(".")[2] == _OIDC_HANDLER:
        return [(SASL_OAUTHBEARER_METHOD.name, "oidc")]
    return [(name, value)]


def _dotted(name: str) -> str:
    return name.replace("_", ".")


def _is_pem(value: object) -> bool:
    return str(value).strip().upper() == "PEM"
