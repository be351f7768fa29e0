"""Our decisions about rights in lock-step with Kafka's own class: random ACLs, and three kinds of questions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.acls import AclFilter
from kafka_groups.broker.authorization import decisions
from kafka_groups.broker.authorization.bindings import AccessControlLists, matches
from kafka_groups.broker.authorization.decisions import AclDecisions
from kafka_groups.broker.authorization.hosts import check_host
from kafka_groups.testing.kafka_jars import kafka_jars
from tests.lockstep.authorization_choosing import scene_of
from tests.support.kafka.java_program import JavaProgram
from tests.support.kafka.kafka_authorizer import Answer, KafkaAuthorizer, OneResource, Question, RightsScene
from tests.support.kafka.kafka_classpath import kafka_classpath, libs_or_skip
from tests.support.principal_rules import MAPPED, UNMAPPED, UNUSABLE

BLOCKS = (
    "10.0.0.0/8", "10.1.2.3/8", "127.0.0.1/08", "010.0.0.0/8", "0.0.0.0/0", "10.0.0.0/00", "/127.0.0.1", "127.0.0.1/",
    "127.0.0.1/33", "127.0.0.1/-1", "127.0.0.1/333", "999.0.0.0/99", "10.0.0.256/8", "abc/8", "10.1/16", "*/8", "/",
    "//", "10.0.0.0/8/8", " 10.0.0.0/8", "10.0.0.0/ 8", "10.0.0.0/+8", "10.0.0.0/255.0.0.0", "0x0a.0.0.0/8",
    "localhost/8", "::1/128", "::/0", "::1/08", "::1/+1", "::1/129", "::1/-1", "::1/", "::1/a", "/::1", "::1/64/64",
    "[::1]/128", "[::1/128", "::1]/128", "fe80::1%1/64", "::ffff:10.0.0.0/104", "::ffff:a00:0/104", "::10.0.0.0/104",
    "2001:db8::/32", "2001:db8:::/32", "2001:db8::g/32", "1:2:3:4:5:6:7:8/3", "1:2:3:4:5:6:7:8:9/3",
    " ::1/128", "::1 /128", "::1/ 128", "ABCD::/16", "a:b/16", ":/16", "10.0.0.0:80/8", "::1/99999999999",
)  # fmt: skip


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaAuthorizer]:
    """The class of Kafka 4.4.0."""
    with KafkaAuthorizer(tmp_path_factory.mktemp("authorizer"), libs_or_skip()) as authorizer:
        yield authorizer


def ours(scene: RightsScene, *, reads_blocks: bool = True) -> list[Answer]:
    acls = AccessControlLists().with_changes(scene.acls)
    super_users = frozenset(scene.super_users)
    deciding = AclDecisions(acls, super_users, scene.allows_without_acls, reads_blocks)
    return [answer_of(question, scene, deciding) for question in scene.questions]


def answer_of(question: Question, scene: RightsScene, deciding: AclDecisions) -> Answer:
    if isinstance(question, AclFilter):
        found = {binding for binding in deciding.acls.candidates(question) if matches(question, binding)}
        return tuple(place for place, binding in enumerate(scene.acls) if binding in found)
    client = (question.principal, question.host, question.operation, question.resource_type)
    if isinstance(question, OneResource):
        return deciding.is_allowed(*client, question.name)
    return deciding.is_allowed_on_any(*client)


def differences(scene: RightsScene, theirs: list[Answer], *, reads_blocks: bool = True) -> list[str]:
    found = zip(scene.questions, theirs, ours(scene, reads_blocks=reads_blocks), strict=True)
    return [f"{question}: Kafka {their}, we {our}" for question, their, our in found if their != our]


def compare(kafka: KafkaAuthorizer, seeds: range, *, reads_blocks: bool = True) -> None:
    asked: set[tuple[type, bool]] = set()
    for seed in seeds:
        scene = scene_of(seed, has_checked_hosts=reads_blocks)
        theirs = kafka.answers(scene)
        assert differences(scene, theirs, reads_blocks=reads_blocks) == [], f"seed {seed}: {scene}"
        asked.update((type(question), bool(answer)) for question, answer in zip(scene.questions, theirs, strict=True))
    assert len(asked) == 6, "each kind of question has both answers"


@pytest.mark.slow
def test_decisions_are_kafkas(kafka: KafkaAuthorizer) -> None:
    compare(kafka, range(100))


@pytest.mark.long
def test_many_decisions_are_kafkas(kafka: KafkaAuthorizer) -> None:
    compare(kafka, range(3_000))


@pytest.mark.slow
def test_in_kafka_4_3_a_host_with_a_slash_is_a_text(tmp_path: Path) -> None:
    libs_or_skip()
    with KafkaAuthorizer(tmp_path, kafka_jars("4.3.1")) as older:
        compare(older, range(100), reads_blocks=False)


@pytest.mark.slow
def test_a_planted_defect_is_found(kafka: KafkaAuthorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_IMPLIED_BY", {}), ("_A_TOPIC", "other"), ("_is_covered", lambda *_: False)):
        with monkeypatch.context() as planted:
            planted.setattr(decisions, name, value)
            with pytest.raises(AssertionError, match="Kafka"):
                compare(kafka, range(300))


@pytest.mark.slow
def test_blocks_of_addresses_are_checked_as_in_kafka(tmp_path: Path) -> None:
    with JavaProgram("HostDriver", tmp_path, kafka_classpath(libs_or_skip())) as driver:
        theirs = {block: driver.ask_line(block).rstrip("\n") for block in BLOCKS}
    assert {block: checked(block) for block in BLOCKS} == theirs


@pytest.mark.slow
def test_names_of_certificates_are_kafkas(tmp_path: Path) -> None:
    with JavaProgram("PrincipalDriver", tmp_path, kafka_classpath(libs_or_skip())) as driver:
        for rules, subject, name in MAPPED:
            assert driver.ask_line(_in_one_line(rules, subject)) == f"name: {name}\n"
        for rules, subject in UNMAPPED:
            assert driver.ask_line(_in_one_line(rules, subject)).startswith("unmapped: NoMatchingRule ")
        for rules in UNUSABLE:
            assert driver.ask_line(_in_one_line(rules, "")).startswith("refused: ")


def _in_one_line(rules: str, subject: str) -> str:
    return f"{rules}\t{subject}".replace("\n", "\\n")


def checked(block: str) -> str:
    try:
        check_host(block)
    except ValueError as error:
        return str(error).removeprefix(f"Invalid CIDR notation '{block}': ")
    return "ok"
