"""Makes the modules with typed keyword arguments from the tables of keys and options.

`python -m tests.generating.keywords` writes them; a test compares them with what this makes.
"""

import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from kafka_groups.config.clients.admin import admin_keys
from kafka_groups.config.clients.connection import client_keys
from kafka_groups.config.clients.share import share_consumer_keys
from kafka_groups.config.clients.streams import streams_keys
from kafka_groups.config.clients.streams_member import streams_member_keys
from kafka_groups.config.keys import Key, KeyType
from kafka_groups.spark.draining.drain_options import DrainOptions
from kafka_groups.spark.workers.worker_options import WorkerOptions

__all__ = ["COMMAND", "generated"]

COMMAND: Final = "python -m tests.generating.keywords"
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
_IMPORTED = (
    ("collections.abc", ("Callable", "Mapping", "Sequence")),
    ("os", ("PathLike",)),
    ("typing", ("TYPE_CHECKING", "Any", "Literal", "TypedDict")),
)
OF_ASSIGNORS: Final = """if TYPE_CHECKING:  # few applications choose an assignor
    from kafka_groups.assignment import ApplicationState, TaskAssignment, TaskAssignor
"""


def generated() -> Mapping[Path, str]:
    """The modules: path and text."""
    of_all = "The keyword arguments that all clients have."
    clients = _typed_dict("ClientKeywords", "TypedDict", of_all, _key_entries(client_keys()))
    of_consumer = "The keyword arguments of a share consumer."
    of_workers = "The keyword arguments of `ShareWorkers`: the attributes of `WorkerOptions`, and a consumer's."
    of_drain = "The keyword arguments of `drain`: the attributes of `DrainOptions`, and a consumer's."
    consumer = _typed_dict("ShareConsumerKeywords", "ClientKeywords", of_consumer, _own_entries(share_consumer_keys()))
    of_admin = "The keyword arguments of an admin client."
    admin = _typed_dict("AdminKeywords", "ClientKeywords", of_admin, _own_entries(admin_keys()))
    of_member = "The keyword arguments of a member of a streams group."
    member = _typed_dict("StreamsMemberKeywords", "ClientKeywords", of_member, _own_entries(streams_member_keys()))
    of_streams = "The keyword arguments of a streams application."
    own = {name: key for name, key in streams_keys().items() if name not in streams_member_keys()}
    streams = _typed_dict("StreamsKeywords", "StreamsMemberKeywords", of_streams, _own_entries(own))
    workers = _typed_dict("WorkersKeywords", "ShareConsumerKeywords", of_workers, _option_entries(WorkerOptions))
    drain = _typed_dict("DrainKeywords", "ShareConsumerKeywords", of_drain, _option_entries(DrainOptions))
    return {
        ROOT / "kafka_groups" / "config" / "clients" / "keywords.py": _module(
            "The keys of clients as keyword arguments, so that editors complete them and type checkers check them.",
            ["AdminKeywords", "ClientKeywords", "ShareConsumerKeywords", "StreamsKeywords", "StreamsMemberKeywords"],
            "the tables of keys in this folder",
            f"{clients}\n{consumer}\n{admin}\n{member}\n{streams}".rstrip("\n") + "\n",
            OF_ASSIGNORS,
        ),
        ROOT / "kafka_groups" / "spark" / "keywords.py": _module(
            "The keyword arguments of workers and drains, so that editors complete them and type checkers check them.",
            ["DrainKeywords", "WorkersKeywords"],
            "workers/worker_options.py and draining/drain_options.py",
            f"{drain}\n\n{workers}",
            "from kafka_groups.config.clients.keywords import ShareConsumerKeywords\n",
        ),
    }


def _module(summary: str, names: list[str], source: str, body: str, imports: str = "") -> str:
    used = [
        f"from {module} import {', '.join(found)}\n"
        for module, candidates in _IMPORTED
        if (found := [name for name in candidates if re.search(rf"\b{name}\b[\[):,|\n]", f"{imports}\n{body}")])
    ]
    listed = ", ".join(_quoted(name) for name in names)
    made = f"Made by `{COMMAND}` from\n{source}.\nEdit those and run it again; do not edit this module."
    blocks = ["".join(used), imports, f"__all__ = [{listed}]\n"]
    return f'"""{summary}\n\n{made}\n"""\n\n' + "\n".join(block for block in blocks if block) + f"\n\n{body}"


def _typed_dict(name: str, base: str, summary: str, entries: Iterable[str]) -> str:
    return f'class {name}({base}, total=False):\n    """{summary}"""\n\n' + "".join(entries)


def _key_entries(keys: Mapping[str, Key]) -> Iterable[str]:
    for name, key in keys.items():
        if name not in DECLARED_BY_CONSTRUCTORS:
            yield f"    {name}: {annotation(key)}\n" + _documented(f"`{key.name}`: {key.doc}") + "\n"


def _own_entries(keys: Mapping[str, Key]) -> Iterable[str]:
    """Those that not all clients have."""
    return _key_entries({name: key for name, key in keys.items() if name not in client_keys()})


def _option_entries(options: type[Any]) -> Iterable[str]:
    for option in attrs.fields(options):
        kind = option.type.__name__ if type(option.type) is type else str(option.type)
        yield f"    {option.name}: " + re.sub(r"[\w.]+\.(?=\w)", "", kind) + "\n"


def annotation(key: Key) -> str:
    """The Python type of a key's value."""
    if key.annotation:
        return _quoted(key.annotation) if "TaskAssignor" in key.annotation else key.annotation
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
