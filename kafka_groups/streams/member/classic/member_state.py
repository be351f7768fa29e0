"""The state of a member of a classic group: its id, its tasks, its round, and whether a commit may begin."""

from collections.abc import Mapping
from typing import Final

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.member.classic.classic_session import ClassicSession
from kafka_groups.streams.member.classic.classic_settings import ClassicSettings, ClassicSurroundings
from kafka_groups.streams.member.classic.departure import ClassicDeparture
from kafka_groups.streams.member.classic.follow_ups import FollowUps
from kafka_groups.streams.member.classic.join_inquiry import JoinInquiry
from kafka_groups.streams.member.classic.known_group import KnownClassicGroup
from kafka_groups.streams.member.classic.leading import LedGeneration
from kafka_groups.streams.member.classic.reconciliation import InputReconciliation
from kafka_groups.streams.member.classic.round import ClassicRound
from kafka_groups.streams.member.classic.round_log import RoundLog
from kafka_groups.streams.member.classic.round_requests import ClassicIdentity, ClassicRequests
from kafka_groups.streams.member.classic.subscribed_topics import SubscribedTopics
from kafka_groups.streams.member.classic.versions import UserDataVersion
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.member.rules.inbox import ApplicationCalls
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.membership_log import MembershipLog
from kafka_groups.streams.member.rules.owned_tasks import ConfirmationReminder
from kafka_groups.streams.member.rules.owning_member import OwningMember
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.member.rules.streams_sensors import RoundSensors, StreamsSensors

__all__ = ["ClassicMemberState"]

_COMMITTING: Final = frozenset({MembershipState.JOINING, MembershipState.RECONCILING, MembershipState.STABLE})


class ClassicMemberState(OwningMember):
    """The state of a member of a classic group, which `ClassicMembership` changes.

    Args:
        description: What the member tells its group about itself.
        settings: Its configuration.
        coordinator: Finds the broker that coordinates the group.
        errors: Receives errors and events for the log.
        surroundings: Positions, time, timers, and patterns.

    Attributes:
        description: What the member tells its group about itself, with the topics that patterns match now.
        member_id: The id that the coordinator gave it; empty before that.
        state: The member's state.
        epoch: The generation that it knows, by which commits are fenced; 0 if it has none.
        to_lead: The generation that it leads, or None. In the state LEADING, the group waits for `assign`.
        calls: Checks whether the application polls often enough.
        unconfirmed_since: Since when the application has events that it has not confirmed.
        life: How often the member has lost its tasks, or left. What it did before then may be outdated.
        heard: How many heartbeats the coordinator has accepted.
        sensors: Counts and times for the metrics.
        round_sensors: Those of rounds.
    """

    def __init__(
        self,
        description: MemberDescription,
        *,
        settings: ClassicSettings,
        coordinator: CoordinatorManager,
        errors: BackgroundErrors,
        surroundings: ClassicSurroundings,
    ) -> None:
        self.description = description
        self._settings = settings
        self._requests = ClassicRequests(description, settings)
        self._coordinator = coordinator
        self._errors = errors
        self._surroundings = surroundings
        self._session = ClassicSession(settings.heartbeat_ms, surroundings.backoff(), surroundings.rng)
        self._round = ClassicRound(surroundings.backoff(), JoinInquiry(settings.session_ms, settings.heartbeat_ms))
        self._departure = ClassicDeparture(surroundings.backoff())
        self._rounds = RoundLog(errors.events, description.group_id)
        self._follow_ups = FollowUps(settings, surroundings.wall_ms, self._rounds)
        self._version = UserDataVersion()
        self._subscribed = SubscribedTopics(description.topology, surroundings.sources)
        self._reconciliation = InputReconciliation()
        self._tasks = self._reconciliation.tasks
        self._group = KnownClassicGroup(self._tasks)
        self._asked_ms: int | None = None
        self._parting_error: KafkaGroupsError | None = None
        self.member_id = self._former_id = ""
        self.unconfirmed_since = ConfirmationReminder()
        self.calls = ApplicationCalls(description.rebalance_timeout_ms)
        self.state = MembershipState.UNJOINED
        self.epoch = self.life = self.heard = 0
        self.to_lead: LedGeneration | None = None
        self.sensors = StreamsSensors()
        self.sensors.rounds = self.round_sensors = RoundSensors()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name} {self.state.value} generation {self.epoch}>"

    @property
    def _name(self) -> str:
        known = self.member_id or self._former_id or self.description.instance_id
        return f"{self.description.group_id}/{known or '(new)'}"

    @property
    def _log(self) -> MembershipLog:
        return MembershipLog(self._errors.events, self._name, "group")

    @property
    def _identity(self) -> ClassicIdentity:
        return ClassicIdentity(self.member_id, self.epoch)

    @property
    def statuses(self) -> tuple[StreamsGroupHeartbeatStatus, ...]:
        """The reasons why the group does not work; empty if it works."""
        return self._group.statuses

    @property
    def endpoints(self) -> Mapping[UserEndpoint, EndpointPartitions]:
        """The partitions by the endpoints that answer interactive queries for them."""
        return self._group.endpoints

    @property
    def has_left(self) -> bool:
        """True if the member is not in the group, and waits for no answer about that."""
        return self.state is MembershipState.UNJOINED and self._departure.who is None

    @property
    def needs_topics(self) -> bool:
        """True if the member has to know the topics that exist before it can join."""
        is_joining = self.state is MembershipState.JOINING and self._round.in_flight is None
        return is_joining and not self._subscribed.is_fresh

    # ----------------------------------------------------------------------------- the commit gate

    @property
    def knows_epoch(self) -> bool:
        """True: until a round has ended, the coordinator takes offsets with the generation before."""
        return True

    @property
    def has_gate(self) -> bool:
        """True: no commit may begin during a round."""
        return True

    @property
    def may_commit(self) -> bool:
        """True if a commit may begin: not from building JoinGroup until the assignment is known."""
        # A commit that meets the end of a round is refused: when all have joined, a transaction needs the new
        # generation, and other commits are answered REBALANCE_IN_PROGRESS.
        return self.state in _COMMITTING and self.epoch > 0 and not self._round.is_gated

    def hold(self) -> bool:
        """Hold JoinGroup back for a commit, and return True; or return False if none may begin."""
        if may_commit := self.may_commit:
            self._round.hold()
        return may_commit

    def release(self) -> None:
        """Note that a commit that held JoinGroup back has ended."""
        self._round.release()
