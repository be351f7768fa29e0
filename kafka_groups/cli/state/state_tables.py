"""The stores that applications keep on disk as text and tables."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kafka_groups.errors.texts import counted, sentences
from kafka_groups.streams.engines.inspection import FilesHealth, KeptApplication, KeptTask, OtherGeneration

__all__ = ["print_state"]

_NONE: Final = "-"
_USES: Final = {True: "in use", False: "not in use", None: "perhaps in use"}
_ANSWERS: Final = {True: "yes", False: "no", None: _NONE}
_TASK_COLUMNS: Final = ("task", "generation", "open", "closed cleanly", "files", "file bytes")
_STORE_COLUMNS: Final = ("task", "store", "rows", "bytes", "kind")
_POSITION_COLUMNS: Final = ("task", "topic", "partition", "next offset")
_NUMBERS: Final = ("generation", "file bytes", "rows", "bytes", "partition", "next offset")


def print_state(console: Console, found: Sequence[KeptApplication]) -> None:
    """Print applications: their tasks with stores and positions, old generations, and folders to be deleted."""
    for number, application in enumerate(found):
        if number:
            _line(console, "")
        _line(console, f"{application.application_id} in {application.folder}: {_USES[application.is_in_use]}.")
        tasks = application.tasks
        _print(console, "Tasks", _TASK_COLUMNS, [_task_row(each) for each in tasks])
        _print(console, "Stores", _STORE_COLUMNS, [row for each in tasks for row in _store_rows(each)])
        _print(console, "Positions", _POSITION_COLUMNS, [row for each in tasks for row in _places(each)])
        for line in _closing(application):
            _line(console, line)


def _line(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, markup=False)


def _print(console: Console, title: str, columns: Iterable[str], rows: Sequence[Iterable[str]]) -> None:
    """Print a table if it has rows. Names that do not fit are folded, so that they can be copied."""
    made = Table(title=title, title_justify="left")
    for column in columns:
        made.add_column(column, justify="right" if column in _NUMBERS else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    if rows:
        console.print(made)


def _name(task: KeptTask) -> str:
    return f"global {task.name}" if task.is_global else task.name


def _task_row(task: KeptTask) -> Iterator[str]:
    yield _name(task)
    yield _number(task.generation)
    yield _ANSWERS[task.is_open]
    yield _ANSWERS[task.is_clean]
    yield task.health.value
    yield _number(task.file_bytes)


def _store_rows(task: KeptTask) -> Iterator[Iterable[str]]:
    for name, size in task.stores.items():
        rows, pages = (None, None) if size is None else (size.rows, size.pages_bytes)
        yield _name(task), name, _number(rows), _number(pages), task.layouts.get(name, _NONE)


def _places(task: KeptTask) -> Iterator[Iterable[str]]:
    for place, offset in sorted(task.positions.items()):
        yield _name(task), place.topic, str(place.partition), _number(offset)


def _number(value: int | None) -> str:
    return _NONE if value is None else f"{value:,}"


def _closing(application: KeptApplication) -> Iterator[str]:
    if not application.tasks:
        yield "No task has stores on disk."
    for task in application.tasks:
        if task.health is FilesHealth.TO_BE_RESTORED:
            yield _restored(task)
        for other in task.others:
            has = "have" if task.is_global else "has"
            yield f"{_title(task)} also {has} generation {other.number}: {_described(other)}."
    if application.trash.folders:
        trash = application.trash
        yield f"Waiting to be deleted: {counted(trash.folders, 'folder')} with {counted(trash.size, 'byte')}."


def _title(task: KeptTask) -> str:
    return f"The {task.title}" if task.is_global else task.title.capitalize()


def _restored(task: KeptTask) -> str:
    condition = "unless the process that has it open commits or closes it, " if task.is_open else ""
    return sentences(
        f"{_title(task)}: {condition}the next start deletes the files and restores the stores from their "
        f"{'topics' if task.is_global else 'changelogs'}, because {task.reason}"
    )


def _described(generation: OtherGeneration) -> str:
    if not generation.is_finished:
        return "an unfinished copy"
    return "a process that has lost the task still has it open" if generation.is_open else "nobody needs it any more"
