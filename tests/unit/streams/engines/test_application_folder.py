"""The folder of an application: others' are refused, and so are file systems on which stores cannot be kept."""

import json
import logging
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams.engines import application_folder
from kafka_groups.streams.engines.application_folder import check_installed, check_mount, claim, fingerprint_of
from kafka_groups.streams.engines.machine import Mount

MISSING: ModuleType | None = None
FOLDER = Path("/data/state/app-mine")


def on(monkeypatch: pytest.MonkeyPatch, kind: str | None, place: str = "/data") -> None:
    mount = None if kind is None else Mount(place, kind)
    monkeypatch.setattr(application_folder, "mount_of", lambda _folder: mount)


# ----------------------------------------------------------------------------------------------------- what is needed


def test_stores_can_be_kept_where_lmdb_is() -> None:
    check_installed(["counts"])


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lmdb", MISSING)
    with pytest.raises(ConfigurationError) as caught:
        check_installed(["words", "counts"])
    assert "(counts, words) need the package lmdb" in str(caught.value)
    assert "pip install 'kafka-groups[streams]'" in str(caught.value)


def test_windows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ConfigurationError, match="which Windows lacks"):
        check_installed(["counts"])


# --------------------------------------------------------------------------------------------------- whose folder it is


def test_a_folder_is_of_who_claims_it_first(tmp_path: Path) -> None:
    claim(tmp_path, "mine", "f")
    claim(tmp_path, "mine", "f")
    assert json.loads((tmp_path / "format.json").read_text(encoding="utf-8")) == {
        "format": 1,
        "application": "mine",
        "topology": "f",
    }


@pytest.mark.parametrize(
    ("left", "named"),
    [
        ({"application": "theirs"}, ["'theirs'", "'mine'"]),
        ({"format": 2}, ["format 2", "format 1"]),
        ({"format": None}, ["format None", "format 1"]),
        ({"topology": "g"}, ["'mine'", "other sub-topologies or topics"]),
    ],
)
def test_a_folder_of_others_is_refused_and_stays_as_it_is(
    tmp_path: Path, left: dict[str, object], named: list[str]
) -> None:
    text = json.dumps({"format": 1, "application": "mine", "topology": "f", **left})
    (tmp_path / "format.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        claim(tmp_path, "mine", "f")
    told = str(caught.value)
    assert [each for each in [*named, str(tmp_path)] if each not in told] == []
    assert "`kafka-groups streams offsets reset mine --to-earliest --all-input-topics " in told
    assert f"`rm -r '{tmp_path}'`" in told
    assert (tmp_path / "format.json").read_text(encoding="utf-8") == text


def test_a_classic_group_takes_another_topology_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    claim(tmp_path, "mine", "f")
    for _ in range(2):
        claim(tmp_path, "mine", "g", may_change=True)
    assert caplog.text.count("has other sub-topologies or topics") == 1
    claim(tmp_path, "mine", "g")
    with pytest.raises(ConfigurationError, match="are of application 'mine', not of 'theirs'") as caught:
        claim(tmp_path, "theirs", "g", may_change=True)
    assert "streams offsets reset theirs --topology MODULE:FUNCTION --to-earliest" in str(caught.value)


def test_the_fingerprint_of_a_topology_changes_with_it() -> None:
    assert fingerprint_of({"0": ["a"]}) == fingerprint_of({"0": ["a"]}) != fingerprint_of({"0": ["b"]})


# -------------------------------------------------------------------------------------------------------- file systems


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p"])
def test_file_systems_of_other_machines_are_refused(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    on(monkeypatch, kind)
    with pytest.raises(ConfigurationError) as caught:
        check_mount(FOLDER)
    assert f"state.dir='/data/state' is on /data, a file system of type {kind}." in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("tmpfs", "it is lost when the machine stops"),
        ("overlay", "it is lost with its container"),
        ("fuse.sshfs", "mapped files may not work there"),
    ],
)
def test_doubtful_file_systems_are_warned_about(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str, why: str
) -> None:
    on(monkeypatch, kind)
    check_mount(FOLDER)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"state.dir='/data/state' is on /data, a file system of type {kind}: {why}" in record.message


def test_the_default_folder_is_warned_about(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    on(monkeypatch, "ext4", "/")
    check_mount(Path("/tmp/kafka-groups/app-mine"))
    assert [each.message for each in caplog.records if "systems delete what is old there" in each.message]


@pytest.mark.parametrize("kind", ["ext4", "xfs", None])
def test_a_disk_of_this_machine_or_one_that_the_system_does_not_tell_is_fine(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str | None
) -> None:
    on(monkeypatch, kind)
    check_mount(FOLDER)
    assert not caplog.records
