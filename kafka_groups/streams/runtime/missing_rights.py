"""Missing rights of a worker's member: its own errors name neither the user nor the operation to grant."""

from collections.abc import Iterator
from contextlib import contextmanager

from attrs import frozen

from kafka_groups.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError

__all__ = ["MissingRights"]


@frozen
class MissingRights:
    """Explains refusals of one application.

    Attributes:
        application_id: The id of the application, which its group has.
        principal: The user that the brokers know.
    """

    application_id: str
    principal: str = "The client's user"

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Replace an error about a missing right by one of the same class that says what to grant."""
        try:
            yield
        except GroupAuthorizationFailedError as error:
            denied = f"{self.principal} may not use the group {self.application_id!r}"
            raise GroupAuthorizationFailedError(f"{denied}. Grant the operation Read on the group.") from error
        except TopicAuthorizationFailedError as error:
            raise TopicAuthorizationFailedError(
                f"{self.principal} may not use a topic of the application ({str(error).rstrip('.')}). Grant the "
                "operation Read on each source topic, and Create, Delete, Read and Write on the internal topics, whose "
                f"names begin with {self.application_id + '-'!r}."
            ) from error
