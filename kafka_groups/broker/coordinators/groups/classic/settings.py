"""The settings of classic groups."""

from attrs import frozen

__all__ = ["ClassicGroupSettings"]

_MOST = 2**31 - 1


@frozen(kw_only=True)
class ClassicGroupSettings:
    """The settings of classic groups.

    Attributes:
        initial_rebalance_delay_ms: How long an empty group waits for more members after the first one has joined
            (`group.initial.rebalance.delay.ms`).
        min_session_timeout_ms: The shortest session timeout that members may have (`group.min.session.timeout.ms`).
        max_session_timeout_ms: The longest one (`group.max.session.timeout.ms`).
        max_size: Maximum number of members in a group (`group.max.size`).
        new_member_join_timeout_ms: The longest wait of a member's first JoinGroup request. Its client may be gone.
    """

    initial_rebalance_delay_ms: int = 3_000
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = _MOST
    new_member_join_timeout_ms: int = 300_000
