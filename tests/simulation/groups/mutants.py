"""Defects planted on purpose in what groups of all types have."""

from itertools import count
from typing import Any

from attrs import evolve

from kafka_groups.broker.coordinators.groups.offsets.shard_offsets import ShardOffsets
from tests.support.planted_defects import Patch

__all__ = ["some_commits_are_not_stored"]


def some_commits_are_not_stored(patch: Patch) -> None:
    """Every tenth commit is answered, and has no record."""
    commit, numbers = ShardOffsets.commit, count(1)

    def commit_most(self: ShardOffsets, *arguments: Any) -> Any:
        result = commit(self, *arguments)
        return result if next(numbers) % 10 else evolve(result, records=())

    patch.setattr(ShardOffsets, "commit", commit_most)
