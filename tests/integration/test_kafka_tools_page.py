"""The page about Kafka's own tools names every option that they have, and no other."""

import re
from collections.abc import Mapping

import pytest

from tests.docs.blocks import ROOT
from tests.support.kafka.kafka_tools import MAIN_CLASSES, KafkaTools

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z](?![\w-])")
OF_ALL = frozenset({"--bootstrap-server", "--command-config", "--timeout", "--help", "--version"})
PLACES = frozenset({"--to-current", "--to-datetime", "--to-earliest", "--to-latest", "--to-offset"})
"""The page writes `--to-…` for these."""


def sections() -> Mapping[tuple[str, ...], str]:
    """The first columns of the tables, by the tools that they are about."""
    page = (ROOT / "docs" / "reference" / "kafka-tools.md").read_text(encoding="utf-8")
    parts = [part.split("\n", 1) for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]]
    found = {tuple(name.strip().removesuffix(".sh") for name in head.split(",")): body for head, body in parts}
    return {names: columns(body) for names, body in found.items() if set(names) <= MAIN_CLASSES.keys()}


def columns(body: str) -> str:
    return "\n".join(line.split("|")[1] for line in body.splitlines() if line.startswith("|"))


def test_the_page_is_about_all_tools_that_administer() -> None:
    named = {name for names in sections() for name in names}
    assert named >= {"kafka-topics", "kafka-configs", "kafka-acls", "kafka-share-groups", "kafka-transactions"}


@pytest.mark.parametrize("names", sections(), ids=" ".join)
def test_every_option_of_a_tool_is_on_the_page(kafka_tools: KafkaTools, names: tuple[str, ...]) -> None:
    helped = [kafka_tools.run(name, "--help") for name in names]
    known = {option for run in helped for option in OPTION.findall(run.out + run.err)} - OF_ALL
    written = sections()[names]
    named = set(OPTION.findall(written))
    assert named - known == set(), "the tools do not have these"
    assert known - named - (PLACES if "--to-…" in written else set()) == set(), "the page does not have these"
