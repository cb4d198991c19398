"""Tests run from the root of the checkout: scenes are found as the docs name them."""

import os
from pathlib import Path

import pytest

import quasistep as qs

ROOT = Path(__file__).resolve().parents[2]
os.chdir(ROOT)

SCENES = sorted(path.stem for path in (ROOT / "scenes").glob("*.yml"))


@pytest.fixture(scope="session")
def push() -> qs.System:
    return qs.load("scenes/planar_push.yml")


@pytest.fixture(scope="session")
def pinch() -> qs.System:
    return qs.load("scenes/pinch.yml")


@pytest.fixture(scope="session")
def gripper() -> qs.System:
    return qs.load("scenes/gripper_2d.yml")
