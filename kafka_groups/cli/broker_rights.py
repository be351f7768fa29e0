"""The options of `kafka-groups broker` for authorization."""

from collections.abc import Sequence
from typing import Final

import click
from attrs import evolve

from kafka_groups.acls import AclBinding
from kafka_groups.broker.profile import profile_named
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.cli.acl_words import bindings_of_text
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.config.readers import STANDARD_AUTHORIZER, UnfitError, read_principals
from kafka_groups.errors.texts import sentences

__all__ = ["authorizing_settings", "first_acls", "warn_of_anonymous_clients"]

_ACL: Final = "--acl"
_SUPER_USER: Final = "--super-user"


def authorizing_settings(settings: BrokerSettings, super_users: Sequence[str], *, authorize: bool) -> BrokerSettings:
    """Return settings with the authorizer, if it is asked for, and with these super users.

    Raises:
        click.BadParameter: There are super users and no authorizer, or one of them has no type.
    """
    on = evolve(settings, authorizer_class_name=STANDARD_AUTHORIZER) if authorize else settings
    if super_users and not on.authorizer_class_name:
        raise _without_authorizer(_SUPER_USER)
    try:
        return evolve(on, super_users=(*on.super_users, *read_principals(super_users)))
    except UnfitError as error:
        text = sentences(str(error), "Use a principal such as User:admin")
        raise click.BadParameter(text, param_hint=_SUPER_USER) from None


def first_acls(texts: Sequence[str], settings: BrokerSettings, profile: str) -> list[AclBinding] | None:
    """Return the ACLs that exist from the start, or None if the brokers have no authorizer.

    Raises:
        click.BadParameter: There are ACLs and no authorizer, or a text is invalid.
    """
    if not settings.authorizer_class_name:
        if texts:
            raise _without_authorizer(_ACL)
        return None
    reads_blocks = profile_named(profile).has_acl_address_blocks
    return [binding for text in texts for binding in _bindings(text, reads_blocks=reads_blocks)]


def warn_of_anonymous_clients(settings: BrokerSettings, security: BrokerSecurity) -> None:
    """Warn if brokers ask for rights and cannot tell their clients apart."""
    has_certificates = security.tls is not None and security.tls.client_ca_location is not None
    if settings.authorizer_class_name and not security.mechanisms and not has_certificates:
        click.echo(
            "Warning: every client is User:ANONYMOUS, because the brokers have neither --sasl nor --tls-client-ca.",
            err=True,
        )


def _bindings(text: str, *, reads_blocks: bool) -> list[AclBinding]:
    try:
        return bindings_of_text(text, reads_blocks=reads_blocks)
    except click.UsageError as error:
        raise click.BadParameter(f"{text!r}: {error.format_message()}", param_hint=_ACL) from None


def _without_authorizer(option: str) -> click.BadParameter:
    return click.BadParameter("It requires --authorize.", param_hint=option)
