"""The operations that a client may perform on a resource, as responses tell them (KIP-430)."""

from kafka_groups.acls import AclOperation
from kafka_groups.protocol.messages.authorized_operations import NOT_ASKED

__all__ = ["operations_of"]


def operations_of(bits: int) -> frozenset[AclOperation] | None:
    """Return the operations whose bits are set; None if the request did not ask for them."""
    return None if bits == NOT_ASKED else frozenset(each for each in AclOperation if bits >> each & 1)
