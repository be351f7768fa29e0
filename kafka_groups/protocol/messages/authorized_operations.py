"""The operations on a resource that a client may be authorized for: bits in several responses (KIP-430).

The bit with the number of an `AclOperation` stands for it.
"""

from typing import Final

NOT_ASKED: Final = -(2**31)
"""The value in a response if the request did not ask for authorized operations."""
