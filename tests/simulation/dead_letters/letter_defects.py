"""Defects of dead letters, planted on purpose: the simulation must find each."""

from kafka_groups.broker.share_partitions import in_flight, partition
from kafka_groups.broker.share_partitions.dead_letters import DeadLetterRun, runs_of_change
from kafka_groups.broker.share_partitions.led_partitions import LedSharePartitions
from kafka_groups.broker.share_partitions.partition import SharePartition
from kafka_groups.broker.share_partitions.record_state import NOT_DELIVERED
from kafka_groups.broker.share_partitions.writing import StateChange
from tests.support.planted_defects import Patch, by_name

__all__ = ["LETTER_DEFECTS"]


def no_second_write(patch: Patch) -> None:
    """Records stay ARCHIVING when their letters are written."""

    def forget(_led: LedSharePartitions, _share_partition: SharePartition, _run: DeadLetterRun, _has: bool) -> None:
        return

    patch.setattr(LedSharePartitions, "_letters_ended", forget)


def letters_before_state_3(patch: Patch) -> None:
    """Letters are asked for before ARCHIVING is written."""
    write = LedSharePartitions.write

    def write_letters_first(self: LedSharePartitions, change: StateChange) -> None:
        self._archive(change.share_partition, runs_of_change(change.batches, change.acknowledged))
        write(self, change)

    patch.setattr(LedSharePartitions, "write", write_letters_first)


def start_offset_past_archiving(patch: Patch) -> None:
    """The start offset moves past records whose letters are not written yet, so the next leader does not see them."""
    patch.setattr(in_flight, "TERMINAL", NOT_DELIVERED)
    patch.setattr(partition, "TERMINAL", NOT_DELIVERED)


def new_leaders_write_no_letters(patch: Patch) -> None:
    """A new leader archives what it finds ARCHIVING."""
    archive = LedSharePartitions._archive

    def archive_at_once(
        self: LedSharePartitions, share_partition: SharePartition, runs: tuple[DeadLetterRun, ...]
    ) -> None:
        key = share_partition.key
        if self.has(share_partition) and key not in self._writers:  # it was just loaded
            for run in runs:
                self._letters_ended(share_partition, run, has_letters=False)
        else:
            archive(self, share_partition, runs)

    patch.setattr(LedSharePartitions, "_archive", archive_at_once)


LETTER_DEFECTS = by_name(
    no_second_write, letters_before_state_3, start_offset_past_archiving, new_leaders_write_no_letters
)
