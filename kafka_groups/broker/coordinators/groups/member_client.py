"""The client of a group's member: client id and host."""

from attrs import frozen

__all__ = ["MemberClient"]


@frozen
class MemberClient:
    """The origin of a request: the client id in its header, and the host as descriptions of groups show it."""

    client_id: str
    client_host: str
