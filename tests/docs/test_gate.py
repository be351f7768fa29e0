"""The command with which `.ci/run` builds the documentation fails if something is wrong with a page."""

from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.docs.building import built_site

CONFIGURATION = f"""\
INHERIT: {ROOT / "mkdocs.yml"}
docs_dir: pages
hooks: []
nav: [index.md]
"""
SOUND = """\
# Home

[Below](#below), [itself](index.md#home)

## Below

::: documented.double
"""
MODULE = '''\
def double(number: int) -> int:
    """Return twice the number.

    Args:
        {argument}: A number.
    """
    return 2 * number
'''

pytestmark = pytest.mark.slow


def build(directory: Path, page: str, argument: str = "number") -> tuple[int, str]:
    """Build a site of one page with the settings of the real one."""
    (directory / "pages").mkdir()
    (directory / "mkdocs.yml").write_text(CONFIGURATION)
    (directory / "documented.py").write_text(MODULE.format(argument=argument))
    (directory / "pages" / "index.md").write_text(page)
    built = built_site(directory, directory / "site")
    return built.returncode, built.stderr


def test_sound_pages_pass(tmp_path: Path) -> None:
    status, said = build(tmp_path, SOUND)
    assert status == 0, said


@pytest.mark.parametrize(
    "link", ["[Gone](gone.md)", "[Gone](#gone)", "[Gone](/gone/)", "[Gone](gone/)", "[Gone][gone]"]
)
def test_broken_link_fails(link: str, tmp_path: Path) -> None:
    status, said = build(tmp_path, f"{SOUND}\n{link}\n")
    assert status != 0
    assert "gone" in said


def test_docstring_that_does_not_fit_its_function_fails(tmp_path: Path) -> None:
    status, said = build(tmp_path, SOUND, argument="nummer")
    assert status != 0
    assert "Parameter 'nummer' does not appear in the function signature" in said
