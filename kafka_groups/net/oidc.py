"""Requests a token from an identity provider (OAuth 2.0 client credentials, RFC 6749 section 4.4). It blocks."""

import base64
import http.client
import json
import ssl
import urllib.error
import urllib.request
from typing import IO, Any
from urllib.parse import quote_plus, urlencode

from attrs import field, frozen

from kafka_groups.config.security.sasl import OidcSettings
from kafka_groups.errors import ConfigurationError, TokenError, TokenUnavailableError
from kafka_groups.errors.texts import named, sentences

__all__ = ["Grant", "request_token"]

_TIMEOUT_S = 10.0
_LONGEST_ANSWER_BYTES = 1024 * 1024
_LONGEST_REASON = 300
_RETRIABLE = frozenset({408, 425, 429})


@frozen
class Grant:
    """A token and its lifetime."""

    token: str = field(repr=False)
    lifetime_s: float


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would send the secret to an address that nobody configured."""

    def redirect_request(self, *_: Any) -> None:
        return None


def request_token(settings: OidcSettings, timeout_s: float = _TIMEOUT_S) -> Grant:
    """Request a token from the identity provider, without retrying.

    Raises:
        TokenError: The provider refused, its certificate is not trusted, or its response has no token.
        TokenUnavailableError: The provider could not be reached, was busy, or failed.
    """
    url = settings.token_endpoint_url
    https = urllib.request.HTTPSHandler(context=_tls_context(settings.ca_location))
    opener = urllib.request.build_opener(https, _NoRedirects())
    try:
        with opener.open(_request(settings), timeout=timeout_s) as answer:
            return _grant(answer, url)
    except urllib.error.HTTPError as error:
        with error:
            raise _http_error(error, settings) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            text = f"The certificate of the token endpoint {url} is not trusted: {error.reason.verify_message}"
            remedy = "Set https.ca.location to the certificate of the authority that signed it"
            raise TokenError(sentences(text, remedy)) from error
        text = f"Could not reach the token endpoint {url}: {error.reason}"
        raise TokenUnavailableError(sentences(text)) from error
    except (OSError, http.client.HTTPException) as error:
        text = f"The token endpoint {url} did not respond: {named(error)}"
        raise TokenUnavailableError(sentences(text)) from error


def _tls_context(ca_location: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_location)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(sentences(f"Could not use https.ca.location {ca_location!r}: {error}")) from error


def _request(settings: OidcSettings) -> urllib.request.Request:
    fields = {"grant_type": "client_credentials"} | ({"scope": settings.scope} if settings.scope else {})
    names = (settings.client_id, settings.client_secret)
    pair = ":".join(quote_plus(name) if settings.url_encode else name for name in names)
    headers = {
        "Accept": "application/json",
        "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
        "User-Agent": "kafka-groups",
    }
    # The configuration allows http and https only.
    return urllib.request.Request(settings.token_endpoint_url, urlencode(fields).encode(), headers)  # noqa: S310


def _grant(answer: IO[bytes], url: str) -> Grant:
    try:
        body = json.loads(answer.read(_LONGEST_ANSWER_BYTES))
        token, lifetime_s = body["access_token"], float(body["expires_in"])
    except (ValueError, KeyError, TypeError):
        raise TokenError(
            f"The response of the token endpoint {url} is not JSON with access_token and expires_in."
        ) from None
    if not isinstance(token, str):
        raise TokenError(f"The access_token in the response of the token endpoint {url} is not a string.")
    return Grant(token, lifetime_s)


def _http_error(error: urllib.error.HTTPError, settings: OidcSettings) -> TokenError | TokenUnavailableError:
    text = f"The token endpoint {settings.token_endpoint_url} responded with {error.code} {error.reason}"
    why = _reason(error).replace(settings.client_secret, "[hidden]")
    text = f"{text}: {why}" if why else text
    if error.code >= 500 or error.code in _RETRIABLE:
        return TokenUnavailableError(sentences(text))
    return TokenError(sentences(text, "Check the client id, client secret and scope"))


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        body = json.loads(error.read(_LONGEST_ANSWER_BYTES))
        parts = [str(body[name]) for name in ("error", "error_description") if body.get(name)]
    except (OSError, ValueError, AttributeError, http.client.HTTPException):
        return ""  # the status is all there is
    return ": ".join(parts)[:_LONGEST_REASON]
