"""Makes the modules with typed keyword arguments from the tables of keys and options.

`python -m tests.support.keywords` writes them; a test compares them with what this makes.
"""

import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.share import share_consumer_keys
from kafka_groups.spark.drain_options import DrainOptions
from kafka_groups.spark.worker_options import WorkerOptions

__all__ = ["COMMAND", "generated"]

COMMAND: Final = "python -m tests.support.keywords"
ROOT: Final = Path(__file__).parents[2]
DECLARED_BY_CONSTRUCTORS = frozenset({"key_deserializer", "value_deserializer"})
"""Keys that constructors declare themselves, as these give the types of the records."""

_TYPES = {
    KeyType.BOOLEAN: "bool",
    KeyType.STRING: "str",
    KeyType.INT: "int",
    KeyType.LONG: "int",
    KeyType.LIST: "Sequence[str]",
    KeyType.PASSWORD: "str",
}
_IMPORTED = (("collections.abc", ("Callable", "Mapping", "Sequence")), ("typing", ("Any", "Literal", "TypedDict")))


def generated() -> Mapping[Path, str]:
    """The modules: path and text."""
    consumer = _typed_dict("ShareConsumerKeywords", "TypedDict", "a share consumer", _consumer_entries())
    workers = _typed_dict("WorkersKeywords", "ShareConsumerKeywords", "`ShareWorkers`", _option_entries(WorkerOptions))
    drain = _typed_dict("DrainKeywords", "ShareConsumerKeywords", "`drain`", _option_entries(DrainOptions))
    return {
        ROOT / "kafka_groups" / "config" / "keywords.py": _module(
            "A share consumer's keys as keyword arguments, so that editors complete them and type checkers check them.",
            ["ShareConsumerKeywords"],
            "kafka_groups/config/share.py",
            consumer,
        ),
        ROOT / "kafka_groups" / "spark" / "keywords.py": _module(
            "The keyword arguments of workers and drains, so that editors complete them and type checkers check them.",
            ["DrainKeywords", "WorkersKeywords"],
            "kafka_groups/spark/worker_options.py and drain_options.py",
            f"{drain}\n\n{workers}",
            "from kafka_groups.config.keywords import ShareConsumerKeywords\n",
        ),
    }


def _module(summary: str, names: list[str], source: str, body: str, imports: str = "") -> str:
    used = [
        f"from {module} import {', '.join(found)}\n"
        for module, candidates in _IMPORTED
        if (found := [name for name in candidates if re.search(rf"\b{name}\b[\[),|\n]", body)])
    ]
    listed = ", ".join(_quoted(name) for name in names)
    made = f"Made by `{COMMAND}` from {source}.\nEdit those and run it again; do not edit this module."
    blocks = ["".join(used), imports, f"__all__ = [{listed}]\n"]
    return f'"""{summary}\n\n{made}\n"""\n\n' + "\n".join(block for block in blocks if block) + f"\n\n{body}"


def _typed_dict(name: str, base: str, whose: str, entries: Iterable[tuple[str, str, str]]) -> str:
    fields = "".join(f"\n    {field}: {kind}\n{_documented(doc)}" for field, kind, doc in entries)
    return f'class {name}({base}, total=False):\n    """The keyword arguments of {whose}."""\n{fields}'


def _consumer_entries() -> Iterable[tuple[str, str, str]]:
    for name, key in share_consumer_keys().items():
        if name not in DECLARED_BY_CONSTRUCTORS:
            yield name, annotation(key), f"`{key.name}`: {key.doc}"


def _option_entries(options: type[Any]) -> Iterable[tuple[str, str, str]]:
    docs = dict(re.findall(r"^ +(\w+): ((?:.|\n {8,})+)", inspect.getdoc(options) or "", re.MULTILINE))
    for option in attrs.fields(options):
        kind = option.type.__name__ if type(option.type) is type else str(option.type)
        yield option.name, re.sub(r"[\w.]+\.(?=\w)", "", kind), " ".join(docs[option.name].split())


def annotation(key: Key) -> str:
    """The Python type of a key's value."""
    if key.annotation:
        return key.annotation
    if key.choices:
        return f"Literal[{', '.join(map(_quoted, key.choices))}]"
    return _TYPES[key.type] + (" | None" if key.default is None else "")


def _documented(doc: str) -> str:
    lines = textwrap.wrap(f'"""{doc}"""', 116, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent("\n".join(lines), "    ") + "\n"


def _quoted(word: str) -> str:
    return f'"{word}"'


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
