"""Keywords are typed: the generated modules match the tables, and what they list is accepted."""

import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from kafka_groups.config.clients.keywords import ShareConsumerKeywords
from kafka_groups.config.clients.share import share_consumer_config, share_consumer_keys
from tests.generating.keywords import COMMAND, DECLARED_BY_CONSTRUCTORS, ROOT, generated

RIGHT = """
from kafka_groups import AsyncKafkaShareConsumer, KafkaShareConsumer
from kafka_groups.spark import ShareBatch, ShareWorkers

def process(batch: ShareBatch) -> None: ...

one = KafkaShareConsumer(bootstrap_servers="b:1", group_id="g", acknowledgement_mode="explicit", max_poll_records=10)
two = KafkaShareConsumer(
    {"group.id": "g"}, bootstrap_servers=[("b", 1)], auto_renew=True, value_deserializer=bytes.decode
)
three = AsyncKafkaShareConsumer(bootstrap_servers=["b:1"], group_id="g", fetch_max_wait_ms=5)
four = ShareWorkers(topics=["t"], process=process, bootstrap_servers="b:1", group_id="g", max_seconds=2.5)
reveal_type(two)
"""

WRONG = {
    'KafkaShareConsumer(bootstrap_servers="b:1", group_idd="g")': 'Unexpected keyword argument "group_idd"',
    'KafkaShareConsumer(max_poll_records="10")': 'Argument "max_poll_records" to "KafkaShareConsumer"',
    'KafkaShareConsumer(acknowledgement_mode="exlicit")': "expected \"Literal['implicit', 'explicit']\"",
    "AsyncKafkaShareConsumer(auto_renew=1)": 'Argument "auto_renew" to "AsyncKafkaShareConsumer"',
    "AsyncKafkaShareConsumer(fetch_max_wait=5)": 'Unexpected keyword argument "fetch_max_wait"',
    'KafkaAdmin(bootstrap_servers="b:1", group_id="g")': 'Unexpected keyword argument "group_id" for "KafkaAdmin"',
    'ShareWorkers(topics=["t"], process=print, max_second=1)': 'Unexpected keyword argument "max_second"',
    'drain(object(), topics=["t"], idle_seconds="1")': 'Argument "idle_seconds" to "drain"',
}


WRONG_HEAD = """
from kafka_groups import AsyncKafkaShareConsumer, KafkaAdmin, KafkaShareConsumer
from kafka_groups.spark import ShareWorkers, drain
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy says of the right program and of the wrong one."""
    directory = tmp_path_factory.mktemp("programs")
    right, wrong = directory / "right.py", directory / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text(WRONG_HEAD + "\n".join(WRONG))
    command = [sys.executable, "-m", "mypy", "--strict", str(right), str(wrong)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.parent.name)
def test_generated_module_matches_the_tables(path: Path) -> None:
    assert path.read_text() == generated()[path], f"run `{COMMAND}`"


def test_every_key_is_a_keyword() -> None:
    expected = set(share_consumer_keys()) - DECLARED_BY_CONSTRUCTORS
    assert set(get_type_hints(ShareConsumerKeywords)) == expected


def test_every_default_is_accepted_as_a_keyword() -> None:
    config = share_consumer_config(bootstrap_servers="b:1", group_id="g")
    given = {name: getattr(config, name) for name in get_type_hints(ShareConsumerKeywords)}
    assert share_consumer_config(**given) == config


@pytest.mark.slow
def test_type_checker_accepts_keywords(said: list[str]) -> None:
    of_right = [line for line in said if "right.py" in line]
    assert len(of_right) == 1, of_right
    assert 'Revealed type is "kafka_groups.share.consumer.KafkaShareConsumer[' in of_right[0]


@pytest.mark.slow
def test_type_checker_finds_mistakes_in_keywords(said: list[str]) -> None:
    for number, (call, mistake) in enumerate(WRONG.items(), start=WRONG_HEAD.count("\n") + 1):
        assert any(f"wrong.py:{number}: error: " in line and mistake in line for line in said), (call, said)
