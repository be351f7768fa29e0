"""The share coordinator against a naive model of offsets, with coordinators that are loaded from the log anew."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.config.cluster.broker import broker_settings
from kafka_groups.errors import FencedLeaderEpochError, FencedStateEpochError, InvalidRequestError
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition
from tests.support.broker.share_state import ShareStates as SharedStates
from tests.support.broker.share_state import change_of, cluster_of

TOPIC = UUID(int=7)
OFFSETS = 12
SETTINGS = broker_settings(
    {
        "share.coordinator.state.topic.num.partitions": 2,
        "share.coordinator.snapshot.update.records.per.snapshot": 3,
    }
)

keys = st.sampled_from([("g", TOPIC, 0), ("g", TOPIC, 1), ("h", TOPIC, 0)])
epochs = st.integers(0, 3)
offsets = st.integers(-1, OFFSETS)


@st.composite
def batches(draw: Any) -> tuple[StateBatch, ...]:
    ranges = draw(st.lists(st.tuples(st.integers(0, OFFSETS - 1), st.integers(0, 4)), max_size=3))
    return tuple(
        StateBatch(
            first_offset=first,
            last_offset=first + more,
            delivery_state=draw(st.sampled_from([0, 2, 4])),
            delivery_count=draw(st.integers(1, 3)),
        )
        for first, more in ranges
    )


class Model:
    """The state of one share-partition, offset by offset."""

    def __init__(self, state_epoch: int, start: int, fence: int) -> None:
        self.state_epoch, self.start, self.fence = state_epoch, start, fence
        self.leader_epoch = 0
        self.count = -1 if start == -1 else 0
        self.offsets: dict[int, tuple[int, int]] = {}

    def write(self, change: WriteShareStatePartition) -> None:
        if change.start_offset > self.start:
            self.start, self.count = change.start_offset, change.delivery_complete_count
        elif change.start_offset == self.start:
            self.count = max(self.count, change.delivery_complete_count)
        for batch in change.state_batches:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                new = (batch.delivery_count, batch.delivery_state)
                self.offsets[offset] = max(self.offsets.get(offset, new), new)
        self.offsets = {offset: value for offset, value in self.offsets.items() if offset >= self.start}


class ShareStates(RuleBasedStateMachine):
    metadata: ClusterMetadata
    coordinator: SharedStates

    @initialize()
    def begin(self) -> None:
        self.metadata, self.logs = cluster_of(1), LogStore()
        self.models: dict[StateKey, Model] = {}
        self.coordinator = SharedStates(self.metadata, self.logs, SETTINGS)

    @rule(key=keys, state_epoch=epochs, start=offsets)
    def initialises(self, key: StateKey, state_epoch: int, start: int) -> None:
        known = self.models.get(key)
        if known is not None and state_epoch < known.state_epoch:
            with pytest.raises(FencedStateEpochError):
                self.coordinator.initialize(key, state_epoch, start)
        else:
            self.coordinator.initialize(key, state_epoch, start)
            self.models[key] = Model(state_epoch, start, 0 if known is None else known.fence)

    @rule(key=keys, leader_epoch=epochs)
    def reads(self, key: StateKey, leader_epoch: int) -> None:
        known = self.models.get(key)
        if known is None:
            with pytest.raises(InvalidRequestError):
                self.coordinator.read(key, leader_epoch)
        elif leader_epoch < known.fence:
            with pytest.raises(FencedLeaderEpochError):
                self.coordinator.read(key, leader_epoch)
        else:
            self.coordinator.read(key, leader_epoch)
            known.leader_epoch = max(known.leader_epoch, leader_epoch)
            known.fence = max(known.fence, leader_epoch)

    @rule(
        key=keys,
        change=st.builds(change_of, epochs, epochs, offsets, st.integers(-1, OFFSETS), batches()),
    )
    def writes(self, key: StateKey, change: WriteShareStatePartition) -> None:
        known = self.models.get(key)
        if known is None:
            with pytest.raises(InvalidRequestError):
                self.coordinator.write(key, change)
        elif change.leader_epoch < known.fence:
            with pytest.raises(FencedLeaderEpochError):
                self.coordinator.write(key, change)
        elif change.state_epoch < known.state_epoch:
            with pytest.raises(FencedStateEpochError):
                self.coordinator.write(key, change)
        else:
            self.coordinator.write(key, change)
            known.write(change)

    @rule(key=keys)
    def deletes(self, key: StateKey) -> None:
        self.coordinator.delete(key)
        self.models.pop(key, None)

    @rule()
    def is_loaded_anew(self) -> None:
        self.coordinator = SharedStates(self.metadata, self.logs, SETTINGS)

    @invariant()
    def states_are_those_of_the_model(self) -> None:
        for key in (("g", TOPIC, 0), ("g", TOPIC, 1), ("h", TOPIC, 0)):
            state, model = self.coordinator.state(key), self.models.get(key)
            assert (state is None) == (model is None)
            if state is not None and model is not None:
                assert (state.state_epoch, state.leader_epoch) == (model.state_epoch, model.leader_epoch)
                assert (state.start_offset, state.delivery_complete_count) == (model.start, model.count)
                assert _by_offset(state.batches) == model.offsets


def _by_offset(found: tuple[StateBatch, ...]) -> dict[int, tuple[int, int]]:
    return {
        offset: (batch.delivery_count, batch.delivery_state)
        for batch in found
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }


TestShareStates = ShareStates.TestCase
TestShareStates.settings = settings(max_examples=settings().max_examples, stateful_step_count=40)
