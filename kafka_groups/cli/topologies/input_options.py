"""Input files of `kafka-groups streams try`, and the columns of those with commas, as options name them."""

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
from attrs import frozen

from kafka_groups.cli.topologies.csv_rows import CSV_NAMES, CsvColumns, read_csv_rows
from kafka_groups.cli.topologies.input_records import RecordMaker
from kafka_groups.cli.topologies.json_lines import read_json_lines
from kafka_groups.cli.topologies.ordering import InputFile
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import SourceNode

__all__ = ["InputOptions", "source_topics"]

_EVERY_TOPIC = ""
_CSV = ".csv"


@frozen
class InputOptions:
    """The values of the options.

    Attributes:
        files: Topic and file of each input, in the order of the options.
        columns: The column that an option gives to a topic, by option and topic; that without a topic has the topic "".
        null: The text of cells that are null.
    """

    files: tuple[tuple[str, Path], ...]
    columns: Mapping[str, Mapping[str, str]]
    null: str

    @classmethod
    def read(cls, inputs: Sequence[str], columns: Mapping[str, Sequence[str]], null: str | None) -> "InputOptions":
        """Return the options.

        Raises:
            click.BadParameter: An option has the wrong form, or names a topic without an input.
        """
        files = tuple(_input(text) for text in inputs)
        of_csv = {topic for topic, path in files if _is_csv(path)}
        known = {topic for topic, _ in files}
        if null is not None and not of_csv:
            raise click.BadParameter(f"No input is CSV. {CSV_NAMES}", param_hint="--null")
        by_option = {option: dict(_columns(option, given, known, of_csv)) for option, given in columns.items()}
        return cls(files, by_option, null or "")

    def open(self, graph: NodeGraph) -> tuple[InputFile, ...]:
        """Return the files of the topics of a topology.

        Raises:
            click.ClickException: The topology does not read a topic, the topic's serdes have no form in JSON, or the
                column of times is missing.
        """
        sources = source_topics(graph)
        return tuple(self._file(topic, path, _source(topic, sources, graph.patterns)) for topic, path in self.files)

    def _file(self, topic: str, path: Path, source: SourceNode) -> InputFile:
        maker = RecordMaker.of(topic, source.key, source.value)
        if _is_csv(path):
            read = functools.partial(read_csv_rows, path, maker, self._csv_columns(topic, path))
        else:
            read = functools.partial(read_json_lines, path, maker)
        return InputFile(topic=topic, path=path, read=read)

    def _csv_columns(self, topic: str, path: Path) -> CsvColumns:
        time = self._column("--time", topic)
        if time is None:
            raise click.BadParameter(
                f"The rows of {path} have no times. Name their column, or give one time in ms for all of them: "
                f"--time {topic}=COLUMN.",
                param_hint="--time",
            )
        return CsvColumns(
            time=int(time) if time.isdecimal() else time,
            key=self._column("--key", topic),
            value=self._column("--value", topic),
            null=self.null,
        )

    def _column(self, option: str, topic: str) -> str | None:
        columns = self.columns[option]
        return columns.get(topic, columns.get(_EVERY_TOPIC))


def source_topics(graph: NodeGraph) -> dict[str, SourceNode]:
    """Return the topics that a topology reads, except repartition topics, with their sources."""
    sources = (node for node in graph.nodes.values() if isinstance(node, SourceNode))
    return {topic: source for source in sources for topic in source.topics if topic not in graph.repartition_topics}


def _source(topic: str, sources: Mapping[str, SourceNode], patterns: Mapping[str, SourceNode]) -> SourceNode:
    matching = [source for source in patterns.values() if source.matches(topic)]
    if topic not in sources and not matching:
        texts = (f"all that match {source.pattern.pattern!r}" for source in patterns.values() if source.pattern)
        known = ", ".join([*sorted(sources), *sorted(texts)]) or "none"
        raise click.BadParameter(
            f"The topology does not read topic {topic!r}. It reads: {known}.", param_hint="--input"
        )
    return sources[topic] if topic in sources else matching[0]


def _input(text: str) -> tuple[str, Path]:
    topic, equals, file = text.partition("=")
    path = Path(file)
    if not (topic and equals and file):
        raise click.BadParameter(f"{text!r} is not of the form TOPIC=FILE.", param_hint="--input")
    wrong = "is a directory" if path.is_dir() else None if path.exists() else "does not exist"
    if wrong is None and not os.access(path, os.R_OK):
        wrong = "cannot be read"
    if wrong is not None:
        raise click.BadParameter(f"The file {file!r} {wrong}.", param_hint="--input")
    return topic, path


def _columns(option: str, given: Sequence[str], topics: set[str], of_csv: set[str]) -> Iterator[tuple[str, str]]:
    """Iterate over topics and columns. A name before "=" that is not an input topic belongs to the column's name."""
    seen: set[str] = set()
    for text in given:
        before, equals, column = text.partition("=")
        topic, name = (before, column) if equals and before in topics else (_EVERY_TOPIC, text)
        if topic in seen or not name:
            raise click.BadParameter(f"{text!r}: give one column for each topic.", param_hint=option)
        if not of_csv or (topic and topic not in of_csv):
            raise click.BadParameter(f"{text!r} is about CSV, and the input is not CSV. {CSV_NAMES}", param_hint=option)
        seen.add(topic)
        yield topic, name


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == _CSV
