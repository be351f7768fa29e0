"""The credentials of a client, gathered from the many keys that can hold them."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from kafka_groups.config.security.jaas import MODULES, JaasEntry, parse_jaas
from kafka_groups.config.security.security import SASL_KEYS
from kafka_groups.errors import ConfigurationError

__all__ = ["OidcSettings", "Password", "SaslSettings", "TokenCallback", "UnsecuredToken", "sasl_settings"]

_PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_EXTENSION = "extension_"
_UNSECURED = "unsecuredLoginStringClaim_sub"


@frozen
class Password:
    """A name and its password."""

    username: str
    password: str = field(repr=False)


@frozen(kw_only=True)
class OidcSettings:
    """Settings for getting tokens from an identity provider (OAuth 2.0 client credentials)."""

    token_endpoint_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    extensions: tuple[tuple[str, str], ...] = ()
    url_encode: bool = False
    ca_location: str | None = None


@frozen
class TokenCallback:
    """A function of the user that returns tokens, and the text that it gets."""

    function: Callable[[str], Any]
    argument: str = ""
    extensions: tuple[tuple[str, str], ...] = ()


@frozen
class UnsecuredToken:
    """Settings of an unsigned token that the client creates itself; for tests, as in Java's default."""

    subject: str
    extensions: tuple[tuple[str, str], ...] = ()


@frozen
class SaslSettings:
    """A mechanism and what it needs."""

    mechanism: str
    credentials: Password | OidcSettings | TokenCallback | UnsecuredToken


def sasl_settings(config: Any) -> SaslSettings | None:
    """Return what a client's configuration says about SASL; None if the security protocol does not use SASL.

    Raises:
        ConfigurationError: A key is missing, or keys contradict each other; no secret is shown.
    """
    given = [name for name in SASL_KEYS if getattr(config, name) is not None]
    if not config.security_protocol.startswith("SASL_"):
        if given:
            raise ConfigurationError(
                f"{_named(given[0])} is set, but security_protocol (security.protocol) is "
                f"{config.security_protocol!r}, so the client would not authenticate; set security_protocol to "
                "'SASL_SSL' (or 'SASL_PLAINTEXT'), or remove the sasl keys"
            )
        return None
    if config.sasl_mechanism is None:
        choices = ", ".join((*_PASSWORD_MECHANISMS, "OAUTHBEARER"))
        raise ConfigurationError(
            f"sasl_mechanism (sasl.mechanism) is missing: security_protocol is {config.security_protocol!r}; "
            f"give one of {choices}"
        )
    jaas = None if config.sasl_jaas_config is None else _jaas(config)
    if config.sasl_mechanism in _PASSWORD_MECHANISMS:
        return SaslSettings(config.sasl_mechanism, _password(config, jaas))
    return SaslSettings(config.sasl_mechanism, _tokens(config, jaas))


def _named(attribute: str) -> str:
    name = SASL_KEYS[attribute].name
    return attribute if name == attribute else f"{attribute} ({name})"


def _jaas(config: Any) -> JaasEntry:
    entry = parse_jaas(config.sasl_jaas_config)
    if config.sasl_mechanism not in MODULES[entry.module]:
        raise ConfigurationError(
            f"sasl_jaas_config (sasl.jaas.config) has the login module {entry.module}, which does not fit "
            f"sasl_mechanism {config.sasl_mechanism!r}; set sasl_mechanism to {' or '.join(MODULES[entry.module])}, "
            "or change the login module"
        )
    return entry


def _options(jaas: JaasEntry, allowed: tuple[str, ...]) -> Mapping[str, str]:
    unknown = [name for name in jaas.options if not name.startswith(_EXTENSION) and name not in allowed]
    if unknown:
        raise ConfigurationError(
            f"sasl_jaas_config (sasl.jaas.config): unknown option {unknown[0]!r} of {jaas.module}; "
            f"supported are {', '.join(allowed)}"
        )
    return jaas.options


def _password(config: Any, jaas: JaasEntry | None) -> Password:
    options = {} if jaas is None else _options(jaas, ("username", "password"))
    return Password(
        _one(config, "sasl_username", options.get("username"), "username"),
        _one(config, "sasl_password", options.get("password"), "password"),
    )


def _one(config: Any, attribute: str, in_jaas: str | None, option: str) -> str:
    value: str | None = getattr(config, attribute)
    if value is not None and in_jaas is not None and value != in_jaas:
        raise ConfigurationError(
            f"{_named(attribute)} and the option {option} in sasl_jaas_config (sasl.jaas.config) differ; give one"
        )
    found = in_jaas if value is None else value
    if not found:
        raise ConfigurationError(
            f'{_named(attribute)} is missing: {config.sasl_mechanism} needs it; set it, or {option}="…" in '
            "sasl_jaas_config"
        )
    return found


def _tokens(config: Any, jaas: JaasEntry | None) -> OidcSettings | TokenCallback | UnsecuredToken:
    allowed = ("clientId", "clientSecret", "scope", _UNSECURED)
    options = {} if jaas is None else _options(jaas, allowed)
    in_jaas = [(n.removeprefix(_EXTENSION), v) for n, v in options.items() if n.startswith(_EXTENSION)]
    extensions = (*config.sasl_oauthbearer_extensions, *in_jaas)
    if config.oauth_cb is not None:
        if config.sasl_oauthbearer_method == "oidc":
            raise ConfigurationError("oauth_cb is set, but sasl_oauthbearer_method is 'oidc'; remove one of them")
        return TokenCallback(config.oauth_cb, config.sasl_oauthbearer_config, extensions)
    if config.sasl_oauthbearer_method == "oidc" or config.sasl_oauthbearer_token_endpoint_url is not None:
        return _oidc(config, options, extensions)
    if _UNSECURED in options:
        return UnsecuredToken(options[_UNSECURED], extensions)
    raise ConfigurationError(
        "OAUTHBEARER needs tokens: pass a function in oauth_cb, or set sasl_oauthbearer_method to 'oidc' with "
        "sasl_oauthbearer_token_endpoint_url, sasl_oauthbearer_client_id and sasl_oauthbearer_client_secret"
    )


def _oidc(config: Any, options: Mapping[str, str], extensions: tuple[tuple[str, str], ...]) -> OidcSettings:
    if config.sasl_oauthbearer_token_endpoint_url is None:
        raise ConfigurationError(
            f"{_named('sasl_oauthbearer_token_endpoint_url')} is missing: sasl_oauthbearer_method is 'oidc'; give the "
            "URL of the identity provider's token endpoint"
        )
    return OidcSettings(
        token_endpoint_url=config.sasl_oauthbearer_token_endpoint_url,
        client_id=_one(config, "sasl_oauthbearer_client_id", options.get("clientId"), "clientId"),
        client_secret=_one(config, "sasl_oauthbearer_client_secret", options.get("clientSecret"), "clientSecret"),
        scope=config.sasl_oauthbearer_scope or options.get("scope"),
        extensions=extensions,
        url_encode=config.sasl_oauthbearer_header_urlencode,
        ca_location=config.https_ca_location,
    )
