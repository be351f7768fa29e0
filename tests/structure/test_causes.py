"""Chains of causes: one function walks them, as a program can make a circle, and no error is raised from itself."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import kafka_groups

PACKAGE = Path(kafka_groups.__file__).parent
WALK = PACKAGE / "errors" / "causes.py"
LINKS = {"__cause__", "__context__"}
LOOPS = (ast.While, ast.For, ast.AsyncFor, ast.comprehension)
AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


def modules(pattern: str) -> dict[Path, ast.Module]:
    """The modules of the package whose text matches, as parsing all of them takes seconds."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py")) if path != WALK}
    return {path: ast.parse(text) for path, text in texts.items() if re.search(pattern, text)}


def walks(module: ast.Module) -> Iterator[int]:
    """The lines that read a cause in a loop, or in a function that calls itself."""
    repeated = [node for node in ast.walk(module) if isinstance(node, LOOPS) or calls_itself(node)]
    for block in repeated:
        yield from (node.lineno for node in ast.walk(block) if reads_a_link(node))  # type: ignore[attr-defined]


def calls_itself(node: ast.AST) -> bool:
    return isinstance(node, AnyFunction) and any(called(each) == node.name for each in ast.walk(node))


def called(node: ast.AST | None) -> str | None:
    """The name of the function or method that an expression calls."""
    if not isinstance(node, ast.Call):
        return None
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)


def reads_a_link(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in LINKS and isinstance(node.ctx, ast.Load)


def passing_on(modules: Iterable[ast.Module]) -> set[str]:
    """The names of functions that may return one of their arguments as it is."""
    functions = [node for module in modules for node in ast.walk(module) if isinstance(node, AnyFunction)]
    return {each.name for each in functions if returned(each) & {argument.arg for argument in each.args.args}}


def returned(function: AnyFunction) -> set[str]:
    values = (node.value for node in ast.walk(function) if isinstance(node, ast.Return))
    return {value.id for value in values if isinstance(value, ast.Name)}


def self_caused(module: ast.Module, suspects: set[str]) -> Iterator[int]:
    """The lines with `raise f(error) from error` where f may return the error, and with `raise error from error`."""
    for node in ast.walk(module):
        if isinstance(node, ast.Raise) and isinstance(node.cause, ast.Name) and node.exc is not None:
            is_same = isinstance(node.exc, ast.Name) and node.exc.id == node.cause.id
            if is_same or (called(node.exc) in suspects and takes(node.exc, node.cause.id)):
                yield node.lineno


def takes(call: ast.expr, name: str) -> bool:
    """Whether a call has a variable as argument."""
    return isinstance(call, ast.Call) and any(isinstance(each, ast.Name) and each.id == name for each in call.args)


def test_one_module_walks_chains_of_causes() -> None:
    found = modules("|".join(LINKS))
    assert [f"{path.name}:{line}" for path, module in found.items() for line in walks(module)] == []


def test_no_error_of_the_package_is_raised_from_itself() -> None:
    raising = modules(r"raise [a-z_][^#]* from (?!None)")
    makers = {called(node.exc) for each in raising.values() for node in ast.walk(each) if isinstance(node, ast.Raise)}
    suspects = passing_on(modules(rf"def ({'|'.join(map(str, makers))})\(").values())
    assert [f"{path.name}:{line}" for path, module in raising.items() for line in self_caused(module, suspects)] == []


def test_loops_and_recursion_are_found() -> None:
    loop = "while error:\n    error = error.__cause__ or error.__context__"
    recursion = "def root(error):\n    return root(error.__cause__)"
    assert set(walks(ast.parse(loop))) == set(walks(ast.parse(recursion))) == {2}


def test_one_step_is_no_walk() -> None:
    assert list(walks(ast.parse("def first(error):\n    error.__cause__ = other\n    return error.__cause__"))) == []


def test_a_function_that_passes_its_error_on_is_found() -> None:
    module = ast.parse("def told(error):\n    return error\ntry: ...\nexcept OSError as e:\n    raise told(e) from e")
    assert list(self_caused(module, passing_on([module]))) == [5]
    assert list(self_caused(ast.parse("raise error from error"), set())) == [1]
