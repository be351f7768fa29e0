"""Makes the blocking clients from the asyncio ones: the same methods, signatures and docstrings, and calls that wait.

`python -m tests.generating.facades` writes them; a test compares them with what this makes.

What differs is written by hand, in the class that a blocking one builds on: its constructor, its thread, and how a call
waits. A docstring that cannot suit both is followed by a block of comments, which replaces paragraphs of it:

    # In the blocking class, for the paragraph "A client belongs to one event loop":
    #   Any number of threads may use a client at the same time.
"""

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

__all__ = ["COMMAND", "Facade", "FacadeError", "blocking", "generated"]

COMMAND: Final = "python -m tests.generating.facades"
PACKAGE: Final = Path(__file__).parents[2] / "kafka_groups"
WIDTH: Final = 120
_COUNTERPARTS = {"__aenter__": "__enter__", "__aexit__": "__exit__"}
_SECTION = re.compile(r" +# -{20,} .+")
_BLOCK = re.compile(
    r'^ *# In the blocking class, for the paragraph "(?P<start>[^"]+)":\n(?P<text>(?: *#   .+\n)+)', re.MULTILINE
)
_ASYNC_WORDS = re.compile(r"\bawait\b|\basync (?:with|for)\b|\basyncio\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef


class FacadeError(Exception):
    """An asyncio class has something that the generator cannot translate."""


@frozen(kw_only=True)
class Facade:
    """A blocking class and where it comes from. Paths are relative to the package.

    Attributes:
        source: The module of the asyncio class.
        target: The module of the blocking class.
        summary: What the target is, for its first line.
        names: The names of the two classes.
        base: The module and name of the class that the blocking one builds on.
        attribute: The attribute in which the base has the asyncio object.
        by_hand: Methods that the base does itself, under the same name with an underscore.
        anywhere: Methods that are no coroutines and may run on any thread. Others run on that of the event loop.
    """

    source: str
    target: str
    summary: str
    names: tuple[str, str]
    base: tuple[str, str]
    attribute: str
    by_hand: frozenset[str] = frozenset()
    anywhere: frozenset[str] = frozenset()


FACADES: Final = (
    Facade(
        source="admin/aio_transactions.py",
        target="admin/admin_transactions.py",
        summary="The methods of the blocking admin client for transactions and their producers",
        names=("AsyncTransactionCalls", "TransactionCalls"),
        base=("kafka_groups.admin.admin_thread", "_AdminThread"),
        attribute="_admin",
    ),
    Facade(
        source="admin/aio_topics.py",
        target="admin/admin_topics.py",
        summary="The methods of the blocking admin client for topics and the cluster",
        names=("AsyncTopicCalls", "TopicCalls"),
        base=("kafka_groups.admin.admin_transactions", "TransactionCalls"),
        attribute="_admin",
    ),
    Facade(
        source="admin/aio_configs.py",
        target="admin/admin_configs.py",
        summary="The methods of the blocking admin client for configurations",
        names=("AsyncConfigCalls", "ConfigCalls"),
        base=("kafka_groups.admin.admin_topics", "TopicCalls"),
        attribute="_admin",
    ),
    Facade(
        source="admin/aio_groups.py",
        target="admin/admin_groups.py",
        summary="The methods of the blocking admin client for groups of any type",
        names=("AsyncGroupCalls", "GroupCalls"),
        base=("kafka_groups.admin.admin_configs", "ConfigCalls"),
        attribute="_admin",
    ),
    Facade(
        source="admin/aio_access.py",
        target="admin/admin_access.py",
        summary="The methods of the blocking admin client for ACLs and users",
        names=("AsyncAccessCalls", "AccessCalls"),
        base=("kafka_groups.admin.admin_groups", "GroupCalls"),
        attribute="_admin",
    ),
    Facade(
        source="admin/aio_streams.py",
        target="admin/admin_streams.py",
        summary="The methods of the blocking admin client for streams groups",
        names=("AsyncStreamsGroupCalls", "StreamsGroupCalls"),
        base=("kafka_groups.admin.admin_access", "AccessCalls"),
        attribute="_admin",
    ),
    Facade(
        source="admin/aio.py",
        target="admin/admin.py",
        summary="The blocking admin client",
        names=("AsyncKafkaAdmin", "KafkaAdmin"),
        base=("kafka_groups.admin.admin_streams", "StreamsGroupCalls"),
        attribute="_admin",
        by_hand=frozenset({"close"}),
    ),
    Facade(
        source="streams/member/aio.py",
        target="streams/member/member.py",
        summary="The blocking member of a streams group",
        names=("AsyncStreamsGroupMember", "StreamsGroupMember"),
        base=("kafka_groups.streams.member.member_thread", "_MemberThread"),
        attribute="_member",
        by_hand=frozenset({"join", "poll", "close"}),
        anywhere=frozenset({"group_metadata"}),
    ),
)


def generated() -> Mapping[Path, str]:
    """The modules: path and text."""
    return {
        PACKAGE / facade.target: blocking(facade, (PACKAGE / facade.source).read_text(encoding="utf-8"))
        for facade in FACADES
    }


def blocking(facade: Facade, text: str) -> str:
    """Return the module of a blocking class.

    Raises:
        FacadeError: A docstring does not suit the blocking class, or a block replaces nothing.
    """
    module = ast.parse(text)
    (asynchronous,) = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == facade.names[0]]
    methods = [node for node in asynchronous.body if isinstance(node, Function) and _is_forwarded(node)]
    name, (base_module, base) = facade.names[1], facade.base
    imports = _imports(module, methods, f"from {base_module} import {base}")
    members = "\n\n".join(_member(facade, text, asynchronous, method) for method in methods)
    return _renamed(
        facade,
        f'"""{facade.summary}; generated from `{Path(facade.source).name}`.\n\n'
        f'Edit that module and run `{COMMAND}`; do not edit this one.\n"""\n\n'
        f'{imports}\n\n__all__ = ["{name}"]\n\n\n'
        f"class {name}({base}):\n    {_docstring(text, asynchronous)}\n\n{members}\n",
    )


def _renamed(facade: Facade, text: str) -> str:
    """Return the text with the names of blocking classes, also of others."""
    for each in (facade, *FACADES):
        text = re.sub(rf"\b{each.names[0]}\b", each.names[1], text)
    return text


def _is_forwarded(method: Function) -> bool:
    return method.name in _COUNTERPARTS or not method.name.startswith("_")


# ------------------------------------------------------------------------------------------ methods


def _member(facade: Facade, text: str, owner: ast.ClassDef, method: Function) -> str:
    """Return a method, below the heading of its section if it is the first of it."""
    if method.returns is None:
        raise FacadeError(f"{method.name}: the type of the result is missing")
    parameters = [*_parameters(text, method)]
    header = _header(_COUNTERPARTS.get(method.name, method.name), parameters, _segment(text, method.returns))
    heading = _heading(text, owner, method)
    if method.name in _COUNTERPARTS:
        return heading + header + _without_await(text, method)
    returned = "" if isinstance(method.returns, ast.Constant) and method.returns.value is None else "return "
    return f"{heading}{header}        {_docstring(text, method)}\n{_call(returned, _calls(facade, method))}"


def _heading(text: str, owner: ast.ClassDef, method: Function) -> str:
    """Return the heading between this method and the one that is forwarded before it."""
    before = [node for node in owner.body if node.lineno < method.lineno]
    forwarded = [node for node in before if isinstance(node, Function) and _is_forwarded(node)]
    since = forwarded[-1].end_lineno if forwarded else owner.lineno
    headings = [line for line in text.splitlines()[since : method.lineno] if _SECTION.fullmatch(line)]
    return f"{headings[-1]}\n\n" if headings else ""


def _parameters(text: str, method: Function) -> Iterator[str]:
    arguments = method.args
    if arguments.posonlyargs or arguments.vararg or arguments.kwarg:
        raise FacadeError(f"{method.name}: only parameters that can be passed by name are forwarded")
    first = len(arguments.args) - len(arguments.defaults)
    for number, argument in enumerate(arguments.args):
        yield _parameter(text, argument, arguments.defaults[number - first] if number >= first else None)
    if arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(text, argument, default)


def _parameter(text: str, argument: ast.arg, default: ast.expr | None) -> str:
    annotation = "" if argument.annotation is None else f": {_segment(text, argument.annotation)}"
    return argument.arg + annotation + ("" if default is None else f" = {_segment(text, default)}")


def _segment(text: str, node: ast.AST) -> str:
    found = ast.get_source_segment(text, node)
    assert found is not None
    return " ".join(found.split())


def _header(name: str, parameters: list[str], returns: str) -> str:
    joined = ", ".join(parameters)
    listed = "".join(f"        {parameter},\n" for parameter in parameters)
    return _first_that_fits(
        f"    def {name}({joined}) -> {returns}:\n",
        f"    def {name}(\n        {joined}\n    ) -> {returns}:\n",
        f"    def {name}(\n{listed}    ) -> {returns}:\n",
    )


def _without_await(text: str, method: Function) -> str:
    lines = text.splitlines(keepends=True)[method.body[0].lineno - 1 : method.end_lineno]
    return "".join(lines).replace("await ", "").rstrip("\n")


def _calls(facade: Facade, method: Function) -> tuple[str, ...]:
    """Return the names of the functions that are called inside of each other, and the arguments of the last one."""
    given = [argument.arg for argument in method.args.args[1:]]
    given += [f"{argument.arg}={argument.arg}" for argument in method.args.kwonlyargs]
    target = f"self.{facade.attribute}.{method.name}"
    if method.name in facade.by_hand:
        return (f"self._{method.name}", ", ".join(given))
    if isinstance(method, ast.AsyncFunctionDef):
        return ("self._run", target, ", ".join(given))
    return (target, ", ".join(given)) if method.name in facade.anywhere else ("self._call", ", ".join([target, *given]))


def _call(returned: str, calls: tuple[str, ...]) -> str:
    *functions, arguments = calls
    flat = "(".join([*functions, arguments]) + ")" * len(functions)
    outer, _, inside = flat.removesuffix(")").partition("(")
    split = f"        {returned}{outer}(\n            {inside}\n        )"
    innermost, _, given = inside.removesuffix(")").partition("(")
    deeper = f"            {innermost}(\n                {given}\n            )"
    one_a_line = "".join(f"                {each},\n" for each in given.split(", "))
    deepest = f"            {innermost}(\n{one_a_line}            )"
    return _first_that_fits(
        f"        {returned}{flat}",
        split,
        f"        {returned}{outer}(\n{deeper}\n        )",
        f"        {returned}{outer}(\n{deepest}\n        )",
    )


def _first_that_fits(*ways: str) -> str:
    """Return the first way of writing something in which no line is too long, as the formatter does."""
    return next(way for way in ways if all(len(line) <= WIDTH for line in way.splitlines()))


# --------------------------------------------------------------------------------------- docstrings


def _docstring(text: str, node: Function | ast.ClassDef) -> str:
    """Return the docstring in the words of the blocking class."""
    lines = text.splitlines(keepends=True)
    statement = node.body[0]
    given = ast.get_docstring(node, clean=False)
    if given is None:
        raise FacadeError(f"{node.name}: the docstring is missing")
    block = "".join(_comments_below(lines[statement.end_lineno :]))
    for match in _BLOCK.finditer(block):
        given = _with_paragraph(given, match["start"], match["text"], statement.col_offset)
    if _ASYNC_WORDS.search(given):
        raise FacadeError(f"{node.name}: the docstring suits only asyncio; add a block that replaces the paragraph")
    return f'"""{given}"""'


def _comments_below(lines: Iterable[str]) -> Iterator[str]:
    """Return the comments that follow a docstring, after at most one empty line."""
    for number, line in enumerate(lines):
        if line.lstrip().startswith("# ") and not _SECTION.fullmatch(line.rstrip("\n")):
            yield line
        elif number > 0 or line.strip():
            return


def _with_paragraph(docstring: str, start: str, comments: str, indent: int) -> str:
    paragraphs = docstring.split("\n\n")
    found = [number for number, paragraph in enumerate(paragraphs) if paragraph.lstrip().startswith(start)]
    if len(found) != 1:
        raise FacadeError(f"{len(found)} paragraphs begin with {start!r}")
    replacement = textwrap.indent(re.sub(r"^ *#   ", "", comments, flags=re.MULTILINE), " " * indent).rstrip("\n")
    paragraphs[found[0]] = replacement if found[0] else replacement.lstrip()
    return "\n\n".join(paragraphs)


# ------------------------------------------------------------------------------------------ imports


def _imports(module: ast.Module, methods: Iterable[Function], base: str) -> str:
    """Return the imports of the names in the signatures, and that of the base, as the formatter orders them."""
    used = {name for method in methods for name in _names_of(method)}
    found = [base]
    for node in module.body:
        if isinstance(node, ast.ImportFrom):
            names = [each.name for each in node.names if each.name in used]
            found += [_import(str(node.module), names)] if names else []
    ours = sorted((line for line in found if "from kafka_groups" in line), key=_module_of)
    others = sorted((line for line in found if "from kafka_groups" not in line), key=_module_of)
    return "\n\n".join("\n".join(group) for group in (others, ours) if group)


def _names_of(method: Function) -> Iterator[str]:
    parts = [method.returns, *method.args.defaults, *method.args.kw_defaults]
    parts += [argument.annotation for argument in (*method.args.args, *method.args.kwonlyargs)]
    for part in parts:
        if part is not None:
            yield from (node.id for node in ast.walk(part) if isinstance(node, ast.Name))


def _module_of(line: str) -> str:
    return line.split()[1]


def _import(module: str, names: list[str]) -> str:
    listed = "".join(f"    {name},\n" for name in names)
    return _first_that_fits(f"from {module} import {', '.join(names)}", f"from {module} import (\n{listed})")


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
