"""The tests. Programs that they start have the data plane that `pytest --data-plane` chooses."""

import os

PLANE_VARIABLE = "KAFKA_GROUPS_TESTED_PLANE"


def choose_plane(name: str) -> None:
    """Let applications of this process, and of those that it starts, use a plane if they do not choose one."""
    from kafka_groups.streams.workers import data_plane  # noqa: PLC0415 - few processes need it

    os.environ[PLANE_VARIABLE] = name
    data_plane.DEFAULT_PLANE = name


if PLANE_VARIABLE in os.environ:
    choose_plane(os.environ[PLANE_VARIABLE])
