"""Runs that go on: the address, who may ask, and how they end."""

import urllib.error
import urllib.request

import numpy as np
import pytest
from conftest import ROOT

import quasistep as qs


def get(address):
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read().decode()


def test_a_live_run_serves_its_page_and_ends(gripper):
    with gripper.live() as live:
        assert live.is_open and live.address.startswith("http://127.0.0.1:")
        assert repr(live) == f"Live('gripper_2d', {live.address})"
        assert live.address in live._repr_html_()
        page = get(live.address)
        assert '"live":{' in page and "gripper.x_l" in page
        for wrong in (live.address.split("?")[0], live.address[:-1]):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                get(wrong)
    assert not live.is_open and repr(live) == "Live('gripper_2d', closed)"
    with pytest.raises(urllib.error.URLError):
        get(live.address)
    live.close()


def test_a_run_goes_on_live_where_it_ended(gripper):
    run = gripper.simulate(duration=0.2)
    with run.live() as live:
        assert live.is_open
    moving = qs.load(ROOT / "scenes/fall.yml").simulate(duration=0.1)
    with moving.live() as live:
        assert live.is_open


def test_a_wrong_start_is_refused(gripper):
    at = gripper.simulate(duration=0.1).checkpoint
    with pytest.raises(qs.LengthError, match="q0"):
        gripper.live(start=at._replace(q=np.zeros(3)))
    with pytest.raises(qs.LengthError, match="v0"):
        gripper.live(start=at._replace(velocity=np.zeros(1)))
