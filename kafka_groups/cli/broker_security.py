"""The options of `kafka-groups broker` for TLS and SASL."""

from pathlib import Path

import click
from attrs import frozen

from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.cli.key_value import refuse_repeated
from kafka_groups.errors import ConfigurationError
from kafka_groups.net.tls import ServerTls
from kafka_groups.protocol.sasl.oauthbearer import OAUTHBEARER

__all__ = ["SecurityOptions"]


@frozen(kw_only=True)
class SecurityOptions:
    """The values of the options."""

    mechanisms: tuple[str, ...]
    users: tuple[str, ...]
    users_file: str | None
    tls_certificate: str | None
    tls_key: str | None
    tls_client_ca: str | None

    def security(self) -> BrokerSecurity:
        """Return the security settings of the cluster.

        Raises:
            click.BadParameter: A mechanism is unknown, a user has no password, a certificate is missing, or there are
                mechanisms without users or users without mechanisms.
        """
        users = self._passwords()
        try:
            made = BrokerSecurity(mechanisms=self.mechanisms, users=users, tls=self._tls())
        except ConfigurationError as error:
            raise click.BadParameter(str(error), param_hint="--sasl") from error
        if self.mechanisms and not users and OAUTHBEARER not in self.mechanisms:
            raise click.BadParameter(
                "Nobody could authenticate, because there are no users. Add --user NAME=PASSWORD or --users-file.",
                param_hint="--sasl",
            )
        return made

    def _passwords(self) -> dict[str, str]:
        lines = [] if self.users_file is None else Path(self.users_file).read_text(encoding="utf-8").splitlines()
        given = [(text, "--user") for text in self.users]
        given += [(line, "--users-file") for line in lines if line.strip() and not line.startswith("#")]
        users = [_user(text, option) for text, option in given]
        refuse_repeated([name for name, _ in users], "--user")
        return dict(users)

    def _tls(self) -> ServerTls | None:
        if self.tls_certificate is None:
            for option, value in {"--tls-key": self.tls_key, "--tls-client-ca": self.tls_client_ca}.items():
                if value is not None:
                    raise click.BadParameter("It requires --tls-certificate.", param_hint=option)
            return None
        return ServerTls(
            certificate_location=self.tls_certificate,
            key_location=self.tls_key,
            client_ca_location=self.tls_client_ca,
        )


def _user(text: str, option: str) -> tuple[str, str]:
    name, equals, password = text.partition("=")
    if not name or not equals or not password:
        # The message does not show the value, which may contain a password.
        raise click.BadParameter("A user is not of the form NAME=PASSWORD.", param_hint=option)
    return name, password
