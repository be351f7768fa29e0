"""Finds the code in the README and the documentation."""

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

_BLOCK = re.compile(
    r"(?:<!-- (?P<remark>[^\n]*) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
_NOT_RUN = "not run: "
_FILE = "file: "


@frozen
class Program:
    """Python code from one page: a block that begins with an import, and the blocks that continue it."""

    page: Path
    line: int
    code: str
    run: bool

    @property
    def endless(self) -> bool:
        """Whether only an interrupt ends it."""
        return "while True:" in self.code

    @property
    def stops_at_signals(self) -> bool:
        """Whether it runs until a signal, which it handles."""
        return "signal.SIGTERM" in self.code

    @property
    def runs_worker(self) -> bool:
        """Whether it is a handler worker that runs until a signal."""
        return "worker.run(" in self.code

    @property
    def in_streams_group(self) -> bool:
        """Whether it is a member of a streams group. Those that run until a signal have tests of their own."""
        return "StreamsGroupMember(" in self.code

    @property
    def on_spark(self) -> bool:
        """Whether it needs a Spark session."""
        return "pyspark" in self.code

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def programs() -> tuple[Program, ...]:
    """All programs in Python."""
    return tuple(program for page in PAGES for program in _programs_of(page))


def shell_lines() -> tuple[str, ...]:
    """All lines of shell code, with continued lines joined."""
    blocks = (
        match["code"] for page in PAGES for match in _BLOCK.finditer(page.read_text()) if match["language"] == "sh"
    )
    return tuple(line for code in blocks for line in code.replace("\\\n", " ").splitlines() if line.strip())


def files_of(page: Path) -> dict[str, str]:
    """The files that a page has its readers save: names and contents."""
    remarked = ((match["remark"] or "", match["code"]) for match in _BLOCK.finditer(page.read_text()))
    return {remark.removeprefix(_FILE): code for remark, code in remarked if remark.startswith(_FILE)}


def commands_of(page: Path) -> Iterator[tuple[str, str]]:
    """The commands that a page shows with their output, in its order."""
    for match in _BLOCK.finditer(page.read_text()):
        if match["language"] == "console":
            for shown in re.split(r"^\$ ", match["code"], flags=re.MULTILINE)[1:]:
                command, _, output = shown.partition("\n")
                yield command, output


def picture_of(page: Path, name: str) -> str:
    """The Mermaid text that a page shows as the picture of one of its files."""
    (text,) = (match["code"] for match in _BLOCK.finditer(page.read_text()) if match["remark"] == f"picture of {name}")
    return text


def _programs_of(page: Path) -> Iterator[Program]:
    text = page.read_text()
    begun: Program | None = None
    for match in _BLOCK.finditer(text):
        if match["language"] != "python" or (match["remark"] or "").startswith(_FILE):
            continue
        code, line = match["code"], text[: match.start("code")].count("\n") + 1
        if begun is not None and not code.startswith(("import ", "from ")):
            is_left_out = (match["remark"] or "").startswith(_NOT_RUN)
            assert not (begun.run and is_left_out), f"{page}:{line} continues a program that is run"
            begun = Program(page, begun.line, f"{begun.code}\n{code}", begun.run)
            continue
        if begun is not None:
            yield begun
        begun = Program(page, line, code, not (match["remark"] or "").startswith(_NOT_RUN))
    if begun is not None:
        yield begun
