"""The parts of every client, put together: metadata, coordinators, the router and the engine.

A client adds its own request managers. Building an `Assembly` opens nothing and starts nothing.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import field, frozen

from kafka_groups.acls import AclOperation
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.engine import ClientEngine
from kafka_groups.client.metadata import Metadata, MetadataManager, topic_refusals
from kafka_groups.client.principals import principal_of
from kafka_groups.client.reachability import Reachability
from kafka_groups.client.requests import RequestManager
from kafka_groups.client.router import ConnectionSettings, Router
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.config.security.sasl import sasl_settings
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.net.login import Login, login_with
from kafka_groups.net.loop_clock import LoopClock
from kafka_groups.net.network import Network
from kafka_groups.net.rate_limited_log import RateLimitedLog
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.net.tls import TlsSettings, client_tls_context
from kafka_groups.protocol.framing import DEFAULT_KEPT_BYTES

__all__ = ["Assembly", "Environment"]

_RECORDS_BYTES = 8 * 1024 * 1024
"""Up to this size, connections that fetch an application's records keep their receive buffer."""


@frozen
class Environment:
    """The environment of a client. Tests and simulations replace it with their own.

    Attributes:
        network: The way to the brokers; None for TCP, with TLS if the configuration says so.
        clock: Time.
        rng: Source of ids and of jitter; None for one of its own.
    """

    network: Network | None = None
    clock: Clock = field(factory=SystemClock)
    rng: random.Random | None = None


class Assembly:
    """The parts that a client's request managers share.

    Args:
        config: The client's configuration.
        environment: Network, clock and randomness.
        errors: Receives errors that no caller is waiting for.
        login: How connections authenticate; by default as the configuration says.
        for_records: Whether the client moves an application's records. Users' functions then block its event loop, so
            the time in which the loop stands still does not count, and its connections keep large receive buffers.

    Attributes:
        clock: The clock of the request managers. A `LoopClock` if the client moves records.
        rng: The source of ids and of jitter.
        errors: The errors that no caller is waiting for.
        metadata: What the client knows about the cluster.
        on_data_lost: Called with host and port when a connection in the data lane has ended.
    """

    def __init__(
        self,
        config: ClientConfig,
        environment: Environment,
        errors: BackgroundErrors,
        login: Login | None = None,
        *,
        for_records: bool = False,
    ) -> None:
        self._config = config
        self._clock = environment.clock
        self.clock: Clock = LoopClock(self._clock) if for_records else self._clock
        self.rng = environment.rng or random.Random()
        self.errors = errors
        self.metadata = Metadata()
        self.on_data_lost: Callable[[str, int], None] = lambda _host, _port: None
        self._network = environment.network or _network_for(
            config, _RECORDS_BYTES if for_records else DEFAULT_KEPT_BYTES
        )
        # Tokens expire whether the event loop runs or not.
        self._login = login or login_with(sasl_settings(config), self._clock)
        self._router = Router(
            self._network,
            _connection_settings(config, self._login),
            self.metadata.nodes,
            self.clock,
            self.rng,
            self._data_lost,
        )

    def __repr__(self) -> str:
        return f"<Assembly {self._router!r}>"

    @property
    def reachability(self) -> Reachability:
        """The record of which brokers respond, and since when others do not."""
        return self._router.reachability

    @property
    def rate_limited_log(self) -> RateLimitedLog:
        """Logs the client's warnings, at growing intervals."""
        return self._router.rate_limited_log

    @property
    def principal(self) -> str | None:
        """The user that the brokers know the client as, or None if the client does not know."""
        return principal_of(self._config)

    def features_of(self, node_id: int) -> Mapping[str, int]:
        """Return the levels of finalized features that a broker told when its control connection was last opened."""
        return self._router.features_of(node_id)

    def _data_lost(self, host: str, port: int) -> None:
        self.on_data_lost(host, port)

    def another(self) -> "Assembly":
        """Return an assembly with connections of its own. It shares the login, which keeps the token."""
        environment = Environment(self._network, self._clock, self.rng)
        return Assembly(self._config, environment, BackgroundErrors(), self._login)

    def backoff(self) -> BackoffTimer:
        """Return a new back-off with the configured waits."""
        return BackoffTimer(self._config.retry_backoff_ms, self._config.retry_backoff_max_ms, self.rng)

    def metadata_manager(
        self, *, max_age_ms: int, allow_auto_create: bool, purpose: AclOperation | None = None
    ) -> MetadataManager:
        """Return a manager that keeps the metadata of topics fresh.

        Args:
            max_age_ms: See `MetadataManager`.
            allow_auto_create: See `MetadataManager`.
            purpose: What the client does with the topics, for texts about missing rights.
        """
        made = MetadataManager(
            self.metadata,
            self.errors,
            max_age_ms=max_age_ms,
            timeout_ms=self._config.request_timeout_ms,
            backoff=self.backoff(),
            allow_auto_create=allow_auto_create,
        )
        made.refusals = partial(topic_refusals, principal=self.principal, purpose=purpose)
        return made

    def coordinator(self, group_id: str) -> CoordinatorManager:
        """Return a manager that finds the coordinator of a group of which the client is a member."""
        timeout_ms = self._config.request_timeout_ms
        made = CoordinatorManager(group_id, self.metadata, self.errors, backoff=self.backoff(), timeout_ms=timeout_ms)
        made.principal = self.principal
        return made

    def engine(self, managers: Sequence[RequestManager], on_turn: Callable[[], None]) -> ClientEngine:
        """Return the engine that drives these managers, in this order; `on_turn` is called after every turn."""
        return ClientEngine(managers, self._router, self.clock, errors=self.errors, on_turn=on_turn)


def _network_for(config: ClientConfig, kept_bytes: int) -> TcpNetwork:
    if config.security_protocol not in ("SSL", "SASL_SSL"):
        return TcpNetwork(kept_bytes=kept_bytes)
    settings = TlsSettings(
        ca_location=config.ssl_ca_location,
        ca_pem=config.ssl_ca_pem,
        certificate_location=config.ssl_certificate_location,
        certificate_pem=config.ssl_certificate_pem,
        key_location=config.ssl_key_location,
        key_pem=config.ssl_key_pem,
        key_password=config.ssl_key_password,
        verify_hostname=config.ssl_endpoint_identification_algorithm == "https",
    )
    return TcpNetwork(client_tls=client_tls_context(settings), kept_bytes=kept_bytes)


def _connection_settings(config: ClientConfig, login: Login | None) -> ConnectionSettings:
    return ConnectionSettings(
        bootstrap=config.bootstrap_servers,
        client_id=config.client_id,
        setup_timeout_ms=config.socket_connection_setup_timeout_ms,
        reconnect_backoff_ms=config.reconnect_backoff_ms,
        reconnect_backoff_max_ms=config.reconnect_backoff_max_ms,
        reach_timeout_ms=config.default_api_timeout_ms,
        uses_tls=config.security_protocol.endswith("SSL"),
        login=login,
    )
