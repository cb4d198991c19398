"""Tests run from the root of the checkout: scenes are found as the docs name them."""

import os
from pathlib import Path

import pytest

import quasistep as qs

ROOT = Path(__file__).resolve().parents[2]
os.chdir(ROOT)

ROBOTS = ROOT / "target/robots/share"
os.environ.setdefault("ROS_PACKAGE_PATH", str(ROBOTS))

SCENES = sorted(
    path.relative_to(ROOT / "scenes").with_suffix("").as_posix()
    for folder in (".", "robots")
    for path in (ROOT / "scenes" / folder).glob("*.yml")
)


def pytest_sessionstart(session: pytest.Session) -> None:
    if not (ROBOTS.parent / "version").is_file():
        pytest.exit("scenes/robots needs public robots: run `cargo xtask robots` once", returncode=1)


@pytest.fixture(scope="session")
def push() -> qs.System:
    # four corners that rub by themselves: many contacts, and steps that stick and slide
    return qs.load("scenes/planar_push.yml", set={"step.cone": 8})


@pytest.fixture(scope="session")
def pinch() -> qs.System:
    return qs.load("scenes/pinch.yml")


@pytest.fixture(scope="session")
def gripper() -> qs.System:
    return qs.load("scenes/gripper_2d.yml")
