"""The generation that a member of a classic group leads."""

from attrs import frozen

from kafka_groups.protocol.messages.join_group import JoinGroupResponseMember

__all__ = ["LedGeneration"]


@frozen(eq=False)
class LedGeneration:
    """A generation that the member leads.

    Attributes:
        generation: Its number.
        members: The members with their subscriptions.
        skip_assignment: Whether the members keep the assignments that they have, because a static leader was restarted
            (KIP-814). There is nothing to assign, but the leader watches the topics.
    """

    generation: int
    members: tuple[JoinGroupResponseMember, ...]
    skip_assignment: bool = False
