"""The context of a request, which a handler receives in addition to the request."""

from collections.abc import Iterable

from attrs import field, frozen

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.authorization.bindings import CLUSTER_NAME
from kafka_groups.broker.authorization.refusals import refusal_of
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CooperativeYield
from kafka_groups.broker.security import ANONYMOUS, Authentication
from kafka_groups.protocol.codec import RequestHeader

__all__ = ["ConnectionInfo", "RequestContext", "UnansweredError"]


class UnansweredError(Exception):
    """A request that has no response has failed: the end of its connection is all that the client can notice."""


@frozen
class ConnectionInfo:
    """The origin of a request.

    Attributes:
        id: Number of the connection, unique while the broker runs.
        host: The client's address as the coordinator shows it for a member (`/127.0.0.1`, as in Kafka).
        authentication: The state of the client's authentication. None if none is required.
        is_peer: Whether the client is another broker of the cluster.
        address: The client's address alone, with which ACLs are compared.
        tls_principal: The subject of the client's certificate as Kafka names it (`User:CN=ann`), or `ANONYMOUS`.
    """

    id: int
    host: str
    authentication: Authentication | None = field(default=None, eq=False)
    is_peer: bool = False
    tls_principal: str = ANONYMOUS
    address: str = field(init=False, eq=False, repr=False)

    @address.default
    def _without_slash(self) -> str:
        return self.host.removeprefix("/")


@frozen
class RequestContext:
    """The context of one request.

    Attributes:
        header: Its header.
        connection: The connection that it came from.
        services: The parts of the broker.
        turns: Lets others be served in between, if the request is long.
    """

    header: RequestHeader
    connection: ConnectionInfo
    services: BrokerServices
    turns: CooperativeYield = field(factory=CooperativeYield, eq=False)

    @property
    def principal(self) -> str:
        """The sender of the request by Kafka's name.

        It is the SASL user (`User:ann`); if clients log in with certificates alone, the subject (`User:CN=ann,O=Acme`);
        and otherwise `ANONYMOUS`.
        """
        authentication = self.connection.authentication
        return self.connection.tls_principal if authentication is None else authentication.principal

    @property
    def version(self) -> int:
        """The request's version."""
        return self.header.version

    @property
    def now_ms(self) -> int:
        """The current time of the broker's monotonic clock."""
        return self.services.cluster.clock.now_ms()

    @property
    def wall_ms(self) -> int:
        """The current time of the broker's wall clock."""
        return self.services.cluster.clock.wall_ms()

    # ------------------------------------------------------------------------------------------------- rights

    @property
    def has_authorizer(self) -> bool:
        """True if the client may lack rights. Look here first where many questions would cost time."""
        return self.services.cluster.authorizer is not None and not self.connection.is_peer

    def may(self, operation: AclOperation, resource_type: AclResourceType, name: str = CLUSTER_NAME) -> bool:
        """Return whether the client may perform an operation on a resource.

        Args:
            operation: The operation.
            resource_type: Type of the resource.
            name: Name of the resource. The cluster has only one.
        """
        authorizer = self.services.cluster.authorizer
        # Brokers are super users: they never ask each other for rights.
        if authorizer is None or self.connection.is_peer:
            return True
        return authorizer.is_allowed(self.principal, self.connection.address, operation, resource_type, name)

    def may_on_any(self, operation: AclOperation, resource_type: AclResourceType) -> bool:
        """Return whether the client may perform an operation on some resource of a type (KIP-679)."""
        authorizer = self.services.cluster.authorizer
        if authorizer is None or self.connection.is_peer:
            return True
        return authorizer.is_allowed_on_any(self.principal, self.connection.address, operation, resource_type)

    def require(self, operation: AclOperation, resource_type: AclResourceType, name: str = CLUSTER_NAME) -> None:
        """Raise an error if the client may not perform an operation on a resource; see `may`.

        Raises:
            BrokerError: TOPIC_, GROUP_, TRANSACTIONAL_ID_ or CLUSTER_AUTHORIZATION_FAILED, by the type.
        """
        if not self.may(operation, resource_type, name):
            raise refusal_of(resource_type)

    def visible(self, operation: AclOperation, resource_type: AclResourceType, names: Iterable[str]) -> list[str]:
        """Return the names of the resources on which the client may perform an operation, for filtered lists."""
        authorizer = self.services.cluster.authorizer
        if authorizer is None or self.connection.is_peer:
            return list(names)
        return authorizer.allowed_names(self.principal, self.connection.address, operation, resource_type, names)
