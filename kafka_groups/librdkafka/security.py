"""Translate the SASL keys of a share consumer into those of librdkafka."""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from attrs import field, frozen

from kafka_groups.config.security.sasl import OidcSettings, Password, TokenCallback, UnsecuredToken, sasl_settings
from kafka_groups.config.settings import KeyTable
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.sasl.oauthbearer import unsecured_token

__all__ = ["SECURITY_ATTRIBUTES", "librdkafka_sasl"]

_LIFETIME_S = 3_600

SECURITY_ATTRIBUTES = frozenset({
    "https_ca_location", "oauth_cb", "sasl_jaas_config", "sasl_mechanism", "sasl_oauthbearer_client_id",
    "sasl_oauthbearer_client_secret", "sasl_oauthbearer_config", "sasl_oauthbearer_extensions",
    "sasl_oauthbearer_header_urlencode", "sasl_oauthbearer_method", "sasl_oauthbearer_scope",
    "sasl_oauthbearer_token_endpoint_url", "sasl_password", "sasl_username",
})  # fmt: skip
"""The attributes of a consumer's configuration that `librdkafka_sasl` reads, in addition to `security_protocol`."""


def librdkafka_sasl(keys: KeyTable, given: Mapping[str, object]) -> dict[str, object]:
    """Translate SASL keys.

    Args:
        keys: The keys of a share consumer.
        given: Values of the attributes in `SECURITY_ATTRIBUTES`, and `security_protocol`.

    Raises:
        ConfigurationError: A key is missing, or keys contradict each other.
    """
    defaults = {attribute: None if key.required else key.default for attribute, key in keys}
    settings = sasl_settings(SimpleNamespace(**{**defaults, **given}))
    if settings is None:
        return {}
    return {"sasl.mechanism": settings.mechanism, **_credentials(settings.credentials)}


def _credentials(credentials: Password | OidcSettings | TokenCallback | UnsecuredToken) -> dict[str, object]:
    if isinstance(credentials, Password):
        return {"sasl.username": credentials.username, "sasl.password": credentials.password}
    if isinstance(credentials, OidcSettings):
        return _oidc(credentials)
    if isinstance(credentials, TokenCallback):
        function = credentials.function
        tokens = function if isinstance(function, Tokens) else Tokens(function, credentials.extensions)
        return {"oauth_cb": tokens, "sasl.oauthbearer.config": credentials.argument}
    return {"oauth_cb": Tokens(UnsecuredTokens(credentials.subject), credentials.extensions)}


def _oidc(settings: OidcSettings) -> dict[str, object]:
    optional = {
        "sasl.oauthbearer.scope": settings.scope,
        "sasl.oauthbearer.extensions": ",".join(f"{name}={value}" for name, value in settings.extensions),
        "https.ca.location": settings.ca_location,
    }
    return {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": settings.client_id,
        "sasl.oauthbearer.client.secret": settings.client_secret,
        "sasl.oauthbearer.token.endpoint.url": settings.token_endpoint_url,
        **{name: value for name, value in optional.items() if value},
    }


@frozen
class Tokens:
    """The user's function as librdkafka calls it: without a coroutine, and with the extensions.

    Attributes:
        function: The user's function.
        extensions: SASL extensions of the configuration.
    """

    function: Callable[[str], Any] = field(repr=lambda function: getattr(function, "__qualname__", repr(function)))
    extensions: tuple[tuple[str, str], ...] = ()

    def __call__(self, argument: str) -> tuple[str, float, str, dict[str, str]]:
        """Return token, expiry, principal and extensions."""
        returned = self.function(argument)
        if inspect.iscoroutine(returned):
            returned = asyncio.run(returned)
        values = tuple(returned)
        principal = str(values[2]) if len(values) > 2 else ""
        extensions = dict(values[3] or {}) if len(values) > 3 else {}
        return values[0], float(values[1]), principal, {**dict(self.extensions), **extensions}


@frozen
class UnsecuredTokens:
    """Creates unsigned tokens, as the Java client does by default.

    Attributes:
        subject: The user of the tokens.
    """

    subject: str

    def __call__(self, _argument: str) -> tuple[str, float, str, dict[str, str]]:
        """Return token, expiry, principal and no extensions."""
        now_s = SystemClock().wall_ms() / 1000
        expiry_s = now_s + _LIFETIME_S
        return unsecured_token({"sub": self.subject, "iat": now_s, "exp": expiry_s}), expiry_s, self.subject, {}
