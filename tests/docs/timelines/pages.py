"""Finds the pictures of time on pages, and draws them again."""

import re
from collections.abc import Callable, Mapping

from tests.docs.timelines.joins import JOIN_PICTURES
from tests.docs.timelines.suppression import SUPPRESSION_PICTURES
from tests.docs.timelines.windows import WINDOW_PICTURES

__all__ = ["PICTURES", "pictures_on", "redrawn"]

PICTURES: Mapping[str, Callable[[], str]] = {**WINDOW_PICTURES, **SUPPRESSION_PICTURES, **JOIN_PICTURES}

_PICTURE = re.compile(r"(?<=<!-- timeline: )(?P<name>[a-z-]+) -->\n```text\n(?P<text>.*?)```", re.DOTALL)


def pictures_on(markdown: str) -> dict[str, str]:
    """Return the pictures that a page shows, by name."""
    return {match["name"]: match["text"] for match in _PICTURE.finditer(markdown)}


def redrawn(markdown: str) -> str:
    """Return a page with all its pictures drawn again."""
    return _PICTURE.sub(lambda match: f"{match['name']} -->\n```text\n{PICTURES[match['name']]()}```", markdown)
