"""Facts of the machine, from made-up files."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.streams.engines import machine
from kafka_groups.streams.engines.machine import Mount, boot_id, mount_of


@pytest.fixture
def forgotten_boot_id() -> Iterator[None]:
    boot_id.cache_clear()
    yield
    boot_id.cache_clear()


def info(tmp_path: Path, *mounts: tuple[str, str]) -> Path:
    """A file as `/proc/self/mountinfo` with mounts: their place and type."""
    lines = [
        f"{36 + at} 35 98:0 / {place} rw,noatime shared:1 master:2 - {kind} /dev/x rw"
        for at, (place, kind) in enumerate(mounts)
    ]
    path = tmp_path / "mountinfo"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/data/app-a", Mount("/data", "nfs4")),
        ("/data", Mount("/data", "nfs4")),
        ("/data-2/app-a", Mount("/", "ext4")),
        ("/data/ssd/app-a", Mount("/data/ssd", "xfs")),
        ("/elsewhere", Mount("/", "ext4")),
        ("/my data/app-a", Mount("/my data", "cifs")),
        ("/back\\slash/tab\t/app-a", Mount("/back\\slash/tab\t", "9p")),
        ("/twice/app-a", Mount("/twice", "tmpfs")),
    ],
)
def test_a_folder_is_on_the_innermost_mount_that_is_on_top(tmp_path: Path, folder: str, expected: Mount) -> None:
    mounts = info(
        tmp_path,
        ("/", "ext4"),
        ("/data/ssd", "xfs"),
        ("/data", "nfs4"),
        ("/my\\040data", "cifs"),
        ("/back\\134slash/tab\\011", "9p"),
        ("/twice", "nfs"),
        ("/twice", "tmpfs"),
    )
    assert mount_of(Path(folder), mounts) == expected


def test_a_link_is_followed(tmp_path: Path) -> None:
    real = tmp_path.resolve() / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    mounts = info(tmp_path, ("/", "ext4"), (str(real), "nfs"))
    assert mount_of(tmp_path / "link" / "app-a", mounts) == Mount(str(real), "nfs")


def test_lines_without_the_optional_fields_are_read_and_unknown_ones_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mountinfo"
    path.write_text("36 35 98:0 / / rw - ext4 /dev/x rw\nnonsense\n37 35 0:1 / /data rw shared:1\n", encoding="utf-8")
    assert mount_of(Path("/data/app-a"), path) == Mount("/", "ext4")


def test_a_system_that_does_not_tell_has_no_mounts(tmp_path: Path) -> None:
    assert mount_of(tmp_path, tmp_path / "missing") is None


@pytest.mark.usefixtures("forgotten_boot_id")
def test_the_boot_is_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "boot_id"
    path.write_text("5f7c\n", encoding="ascii")
    monkeypatch.setattr(machine, "_BOOT_ID", path)
    monkeypatch.setattr(sys, "platform", "linux")
    assert boot_id() == "5f7c"


@pytest.mark.usefixtures("forgotten_boot_id")
def test_a_mac_tells_when_it_was_booted(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "{ sec = 1700000000, usec = 1 } Tue Nov 14 22:13:20 2023\n"

    def run(command: list[str], **_settings: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, told if command[-1] == "kern.boottime" else "")

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", run)
    assert boot_id() == told.strip()
