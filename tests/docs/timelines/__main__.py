"""Draws the pictures of time on all pages again."""

from tests.docs.blocks import PAGES
from tests.docs.timelines.pages import redrawn

for page in PAGES:
    page.write_text(redrawn(page.read_text()))
