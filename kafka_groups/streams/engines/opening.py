"""Makes the engines of a worker whose application has stores on disk."""

import logging
import random
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final
from weakref import WeakSet

from attrs import evolve, frozen

from kafka_groups.errors.texts import sentences
from kafka_groups.net.clock import Clock
from kafka_groups.streams.engines.commit_counts import counted_since_commit
from kafka_groups.streams.engines.generation_copy import GenerationCopy
from kafka_groups.streams.engines.generations import Generation, GenerationsFolder
from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.engines.left_folders import global_folder, positions_left, task_folder, wipe_unused
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.marks import Mark
from kafka_groups.streams.engines.opening_rules import global_layouts, layouts, reason_to_wipe
from kafka_groups.streams.engines.owned_engine import DATA_FILE, DATA_FOLDER, DiskEngine
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.engines.split_engine import SplitEngine
from kafka_groups.streams.errors import CorruptedStateError, StateDiskError, StateFilesError
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.types import TaskId, random_uuid

__all__ = ["CLEANUP_DELAY_MS", "COMPACTED_BYTES", "DiskEngines"]

_log = logging.getLogger(__name__)

CLEANUP_DELAY_MS: Final = 600_000
COMPACTED_BYTES: Final = 64 << 20
_TIDY_MS: Final = 60_000
_PATIENCE_MS: Final = 1_000
"""The time that a former owner has to close the files of a task. Then the next owner continues in a copy."""

_NO_MARK: Final = "their mark is missing or cannot be read"


class DiskEngines:
    """Opens what is on the disk of a task, and opens its other stores in memory.

    Args:
        folder: The folder of the application.
        boot: The boot of the machine, as `machine.boot_id` tells it.
        clock: Tells the time.
        cleanup_delay_ms: How long the files of a task that has moved away are kept (`state.cleanup.delay.ms`).
        number: Which worker of the process this is, from 1. Each has global stores of its own.
        compacted_bytes: Files are copied without the space that nothing uses when they are opened, if it is more than
            this and than half of them.
    """

    def __init__(
        self,
        folder: Path,
        boot: str,
        clock: Clock,
        cleanup_delay_ms: int = CLEANUP_DELAY_MS,
        number: int = 1,
        compacted_bytes: int = COMPACTED_BYTES,
    ) -> None:
        self._folder = folder
        self._boot = boot
        self._clock = clock
        self._cleanup_delay_ms = cleanup_delay_ms
        self._began_ms, self._tidied_ms = clock.wall_ms(), clock.now_ms()
        self._number = number
        self._compacted_bytes = compacted_bytes
        self._openings: dict[TaskId | None, _Opening] = {}  # None: the global stores
        self._open: WeakSet[DiskEngine] = WeakSet()

    def __repr__(self) -> str:
        return f"<DiskEngines in {self._folder}>"

    def open(self, task_id: TaskId, stores: Collection[StoreDefinition]) -> TaskEngine | None:
        """Return the engine of a task with what is still there of its state. None: not yet, ask again.

        Raises:
            StateDiskError: Its files cannot be read or written.
        """
        kept = [store for store in stores if store.persistent]
        wanted = _WantedState(
            name=f"task {task_id}",
            folder=task_folder(self._folder, task_id),
            layouts=layouts(kept),
            unlogged=[store.name for store in kept if store.changelog is None],
            origin="restored from the beginning of their changelogs",
        )
        return self._opened(task_id, wanted, are_all=len(kept) == len(stores))

    def open_global(self, stores: Mapping[str, StoreDefinition]) -> TaskEngine | None:
        """Return the engine of the worker's global stores with what is still there. None: not yet, ask again.

        Args:
            stores: The stores, by the topics that fill them.

        Raises:
            StateDiskError: Its files cannot be read or written.
        """
        kept = {topic: store for topic, store in stores.items() if store.persistent}
        wanted = _WantedState(
            name=f"the global stores of worker {self._number}",
            folder=global_folder(self._folder, self._number),
            layouts=global_layouts(kept),
            origin="filled from the beginning of their topics",
        )
        return self._opened(None, wanted, are_all=len(kept) == len(stores))

    def _opened(self, of: TaskId | None, wanted: "_WantedState", *, are_all: bool) -> TaskEngine | None:
        if not wanted.layouts:
            return SharedEngine()
        opening = self._openings.get(of)
        if opening is None:
            opening = self._openings[of] = _Opening(wanted, self._boot, self._compacted_bytes)
        disk = opening.look(self._clock.now_ms())
        if disk is None:
            return None
        del self._openings[of]
        self._open.add(disk)
        return disk if are_all else SplitEngine(disk, SharedEngine(), wanted.layouts)

    def give_up(self, task_id: TaskId) -> None:
        """Forget an opening that has not succeeded: nobody needs the task any more."""
        self._give_up(task_id)

    def give_up_global(self) -> None:
        """Forget an opening of the global stores that has not succeeded."""
        self._give_up(None)

    def _give_up(self, of: TaskId | None) -> None:
        opening = self._openings.pop(of, None)
        if opening is not None:
            opening.give_up()

    def wipe(self, task_id: TaskId) -> None:
        """Delete what is there of a task's state. Its engine is closed. Another process that has it keeps it.

        Raises:
            StateDiskError: It cannot be deleted.
        """
        _wiped(task_folder(self._folder, task_id))

    def wipe_global(self) -> None:
        """Delete what is there of the state of the worker's global stores. Their engine is closed.

        Raises:
            StateDiskError: It cannot be deleted.
        """
        _wiped(global_folder(self._folder, self._number))

    def positions_left(self) -> dict[TaskId, int]:
        """Return the sum of the positions of each task that has files which can be opened.

        Raises:
            StateDiskError: They cannot be read.
        """
        try:
            return positions_left(self._folder, self._boot)
        except OSError as error:
            raise _disk_error(self._folder, error) from error

    def tidy(self) -> None:
        """Delete the files of tasks that have been elsewhere for long, now and then."""
        now_ms = self._clock.now_ms()
        if now_ms - self._tidied_ms < min(self._cleanup_delay_ms, _TIDY_MS):
            return
        self._tidied_ms = now_ms
        for engine in tuple(self._open):
            engine.forget_dead_readers()
        # After a start, the group gets as much time to assign the tasks: those files may be old.
        since_ms = self._clock.wall_ms() - self._cleanup_delay_ms
        if since_ms < self._began_ms:
            return
        try:
            wipe_unused(self._folder, since_ms)
        except OSError as error:
            _log.warning("Old store files in %s cannot be deleted: %s", self._folder, error)


@frozen(kw_only=True)
class _WantedState:
    """The state of a task or of global stores that a worker opens.

    Attributes:
        name: Whose it is, for texts.
        folder: Where it is.
        layouts: How its stores are laid out.
        unlogged: The names of those that have no other copy.
        origin: Where the others come from again, for texts.
    """

    name: str
    folder: GenerationsFolder
    layouts: Mapping[str, str]
    unlogged: Collection[str] = ()
    origin: str


class _Opening:
    """The opening of one state, which may have to wait for a former owner, or for a copy."""

    def __init__(self, wanted: _WantedState, boot: str, compacted_bytes: int) -> None:
        self._wanted = wanted
        self._folder, self._layouts = wanted.folder, wanted.layouts
        self._boot = boot
        self._compacted_bytes = compacted_bytes
        self._waits_for: str | None = None
        self._waits_until_ms = 0
        self._copy: GenerationCopy | None = None
        self._is_compacting = False

    def look(self, now_ms: int) -> DiskEngine | None:
        """Return the engine if the files can be opened now."""
        try:
            return self._copied() if self._copy is not None else self._opened(now_ms)
        except OSError as error:
            raise _disk_error(self._folder.path, error) from error

    def give_up(self) -> None:
        """Leave nothing behind."""
        if self._copy is not None:
            self._copy.give_up()

    def _opened(self, now_ms: int) -> DiskEngine | None:
        newest = self._folder.newest()
        if newest is None or newest.mark is None:
            if self._folder.has_files():
                self._warn("deleted", _NO_MARK)
                self._folder.wipe()
            return self._fresh()
        if not newest.own():
            return self._beside(newest, newest.mark, now_ms)
        try:
            return self._owned(newest)
        except BaseException:
            newest.disown()
            raise

    # ------------------------------------------------------------------------------------ in place

    def _owned(self, found: Generation) -> DiskEngine | None:
        mark = found.mark
        if mark is None:
            return self._wiped(found, _NO_MARK)
        mark = counted_since_commit(mark, found.path / DATA_FOLDER / DATA_FILE)
        why = reason_to_wipe(mark, self._layouts, self._boot)
        return self._wiped(found, why) if why is not None else self._in_place(found, mark)

    def _in_place(self, found: Generation, mark: Mark) -> DiskEngine | None:
        # A process that was ended while it made a compact copy says nothing about the files. It is not tried twice.
        was_compacting = mark.is_compacting and not mark.is_clean
        openings = 1 if mark.is_clean else mark.openings + (not was_compacting)
        layouts = {**mark.stores, **self._layouts}
        found.write(self._mark(layouts, openings=openings, transaction=mark.transaction))
        # In this order: others look whether the mark is as before, and then publish what they have made.
        self._folder.drop_unfinished()
        if not self._folder.is_newest(found):
            found.disown()
            return None
        if not was_compacting and self._is_sparse(found):
            self._compact(found)
            return None
        return self._engine(found)

    def _is_sparse(self, found: Generation) -> bool:
        """Return whether a copy would be much smaller. Files never shrink."""
        data = found.path / DATA_FOLDER / DATA_FILE
        size = data.stat().st_size if data.exists() else 0
        if size <= self._compacted_bytes:
            return False
        try:
            free = LmdbEngine.free_bytes_in(found.path / DATA_FOLDER)
        except StateFilesError as error:
            _log.warning("The free space in %s is unknown: %s", data, error)  # the opening tells the rest
            return False
        return free > max(self._compacted_bytes, size // 2)

    def _compact(self, found: Generation) -> None:
        found.note(is_compacting=True)
        _log.info("The store files of %s in %s are mostly free space, and are copied.", self._wanted.name, found.path)
        self._copy, self._is_compacting = GenerationCopy(found, self._folder.prepare(found)), True

    def _wiped(self, found: Generation, why: str) -> DiskEngine | None:
        self._warn("deleted", why)
        try:
            self._folder.wipe_until(found)
        finally:
            found.disown()
        return self._fresh()

    # ------------------------------------------------------------------------------------ in another generation

    def _beside(self, found: Generation, mark: Mark, now_ms: int) -> DiskEngine | None:
        """Wait for the process that has the files open, and then continue without it."""
        if self._waits_for != mark.owner:
            self._waits_for, self._waits_until_ms = mark.owner, now_ms + _PATIENCE_MS
        if now_ms < self._waits_until_ms:
            return None
        # The openings tell nothing while a process has survived the last of them.
        why = reason_to_wipe(evolve(mark, openings=1), self._layouts, self._boot)
        if why is None and not LmdbEngine.has_written(found.path / DATA_FOLDER):
            why = "the process that has them open has written nothing yet"
        if why is not None:
            self._warn("left alone", why)
            return self._fresh(found)
        _log.warning(
            "Another process still has the stores of %s open in %s, and does not close them. This worker continues in "
            "a copy.",
            self._wanted.name,
            found.path,
        )
        self._copy, self._is_compacting = GenerationCopy(found, self._folder.prepare(found)), False
        return None

    def _copied(self) -> DiskEngine | None:
        copy = self._copy
        if copy is None or copy.is_alive:
            return None
        self._copy = None
        try:
            made = copy.result()
        except CorruptedStateError as error:
            if self._is_compacting:
                return self._wiped(copy.source, str(error))
            self._warn("left alone", str(error))
            return self._fresh(copy.source)
        except (OSError, StateFilesError) as error:
            if copy.is_dropped:  # somebody who has opened the files has deleted it
                self._waits_for = None
                return None
            if not self._is_compacting:
                raise
            _log.warning("The store files in %s stay as large as they are: %s", copy.source.path, error)
            return self._engine(copy.source)
        known = {} if copy.source.mark is None else copy.source.mark.stores
        return self._published(made, copy.source, {**known, **self._layouts})

    def _fresh(self, after: Generation | None = None) -> DiskEngine | None:
        """Begin without rows, behind the files of a process that has them open, or without any."""
        if after is None and self._folder.newest() is not None:
            return None  # somebody has made it since
        return self._published(self._folder.prepare(after), after, self._layouts)

    def _published(self, made: Generation, source: Generation | None, layouts: Mapping[str, str]) -> DiskEngine | None:
        try:
            made.write(self._mark(layouts))
            (made.path / DATA_FOLDER).mkdir(exist_ok=True)
            is_newest = self._folder.publish(made, source)
        except FileNotFoundError:  # somebody who has opened the files has deleted it
            is_newest = False
        except BaseException:
            made.delete()
            raise
        finally:
            if source is not None:
                source.disown()
        if is_newest:
            return self._engine(made)
        made.delete()
        self._waits_for = None
        return None

    def _engine(self, generation: Generation) -> DiskEngine | None:
        try:
            engine = DiskEngine(generation)
        except CorruptedStateError as error:
            return self._wiped(generation, str(error))
        except BaseException:
            generation.disown()
            raise
        self._folder.forget_before(generation)
        return engine

    def _mark(self, layouts: Mapping[str, str], *, openings: int = 1, transaction: int = 0) -> Mark:
        """Return the mark of files that are opened now."""
        owner = str(random_uuid(random.SystemRandom()))
        return Mark(boot_id=self._boot, stores=layouts, openings=openings, transaction=transaction, owner=owner)

    def _warn(self, outcome: str, why: str) -> None:
        names = ", ".join(sorted(self._layouts))
        _log.warning(
            "The store files of %s in %s are %s, because %s. The stores (%s) are %s.",
            self._wanted.name,
            self._folder.path,
            outcome,
            why,
            names,
            self._wanted.origin,
        )
        if self._wanted.unlogged:
            lost = ", ".join(sorted(self._wanted.unlogged))
            _log.error("All rows of %s in %s are lost: there is no changelog.", lost, self._wanted.name)


def _wiped(folder: GenerationsFolder) -> None:
    try:
        if not folder.wipe_unused():
            # This process stood still after it had closed the files, and has lost them.
            _log.warning("The store files in %s are left alone: another process has opened them.", folder.path)
    except OSError as error:
        raise _disk_error(folder.path, error) from error


def _disk_error(folder: Path, error: OSError) -> StateDiskError:
    text = f"The store files in {folder} cannot be used: {error}"
    return StateDiskError(sentences(text, "Give a state.dir that this user may write to, on a disk with space"))
