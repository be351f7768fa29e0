"""Defects planted on purpose in what groups of both types have."""

from itertools import count
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.broker.coordinators.groups.shard import GroupShard

__all__ = ["some_commits_are_not_stored"]


def some_commits_are_not_stored(patch: pytest.MonkeyPatch) -> None:
    """Every tenth commit is answered, and has no record."""
    commit, numbers = GroupShard.commit_offsets, count(1)

    def commit_most(self: GroupShard, *arguments: Any) -> Any:
        result = commit(self, *arguments)
        return result if next(numbers) % 10 else evolve(result, records=())

    patch.setattr(GroupShard, "commit_offsets", commit_most)
