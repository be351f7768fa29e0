import pytest

from kafka_groups.config.cluster.principal_rules import UnmappedNameError, read_principal_rules
from kafka_groups.config.readers import UnfitError
from tests.support.principal_rules import MAPPED, UNMAPPED, UNUSABLE


@pytest.mark.parametrize(("rules", "subject", "name"), MAPPED)
def test_the_first_rule_that_applies_makes_the_name(rules: str, subject: str, name: str) -> None:
    assert read_principal_rules(rules).name_of(subject) == name


@pytest.mark.parametrize(("rules", "subject"), UNMAPPED)
def test_a_name_without_a_rule_is_refused(rules: str, subject: str) -> None:
    with pytest.raises(UnmappedNameError, match=r"^No rule of .* applies to "):
        read_principal_rules(rules).name_of(subject)


UNUSABLE_HERE = (r"RULE:CN=(\p{L}+)/$1/", "RULE:CN=(.*)/$/", "RULE:CN=(.*)/${n}/", "RULE:x/$x/")
"""Kafka takes the first, and refuses names instead of the others."""


@pytest.mark.parametrize("rules", [*UNUSABLE, *UNUSABLE_HERE])
def test_rules_that_cannot_be_read_are_refused(rules: str) -> None:
    with pytest.raises(UnfitError):
        read_principal_rules(rules)


def test_rules_are_shown_as_they_were_written() -> None:
    rules = read_principal_rules("RULE:CN=(.*)/$1/L , DEFAULT")
    assert str(rules) == "RULE:CN=(.*)/$1/L , DEFAULT"
    assert read_principal_rules(rules) is rules
