"""The sweep of 10 000 rollouts on a local Ray cluster. Needs ray: `pytest -m ray`."""

import functools

import pytest
from test_sweep import check_whole, rollouts

import quasistep as qs

pytestmark = pytest.mark.ray


def test_ten_thousand_rollouts_survive_killed_workers(push, tmp_path, monkeypatch):
    # a cluster of this test alone: nothing reported, no token left behind
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray = pytest.importorskip("ray")
    # the cluster's workers find this file's functions here
    environment = {"env_vars": {"PYTHONPATH": str(__file__).rsplit("/", 1)[0]}}
    ray.init(num_cpus=3, log_to_driver=False, include_dashboard=False, runtime_env=environment)
    try:
        n, path = 10_000, tmp_path / "sweep"
        victims = (1234, 5678, 9999)
        work = functools.partial(rollouts, push, str(tmp_path), victims)

        # the driver itself stops on the way, and another one goes on
        class Stop(Exception):
            pass

        def stop(done, n):
            if done >= 3000:
                raise Stop

        with pytest.raises(Stop):
            qs.sweep(work, n, path, executor="ray", workers=3, progress=stop)
        qs.sweep(work, n, path, executor="ray", workers=3)
        assert all((tmp_path / f"died_at_{victim}").exists() for victim in victims)
        check_whole(path, push, n)
    finally:
        ray.shutdown()
