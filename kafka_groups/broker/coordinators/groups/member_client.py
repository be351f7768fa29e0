"""The client of a group's member: client id, host, and the topics that it may describe."""

from collections.abc import Callable

from attrs import field, frozen

__all__ = ["MemberClient", "any_topic"]


def any_topic(_name: str) -> bool:
    """Return True: the client may describe every topic."""
    return True


@frozen
class MemberClient:
    """The origin of a request.

    Attributes:
        client_id: The client id in its header.
        client_host: The host as descriptions of groups show it.
        may_describe: Returns whether the client may describe a topic, by name. It decides when it is called.
    """

    client_id: str
    client_host: str
    may_describe: Callable[[str], bool] = field(default=any_topic, eq=False, repr=False)
