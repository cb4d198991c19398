"""Sensors of a scene in numpy: shapes, names, and the weights that a gripper reads."""

import pickle

import numpy as np
import pytest

import quasistep as qs

G = 9.81


@pytest.fixture(scope="module")
def gripper() -> qs.System:
    return qs.load("scenes/sensors.yml")


@pytest.fixture(scope="module")
def run(gripper: qs.System) -> qs.Run:
    return gripper.simulate()


def test_readings_are_arrays_by_name(gripper, run):
    assert list(gripper.sensors) == ["wrist", "left", "right", "range"]
    k = len(run.t) - 1
    shapes = {name: array.shape for name, array in run.sensors.items()}
    assert shapes == {"wrist": (k, 6), "left": (k, 4, 12), "right": (k, 12, 4), "range": (k,)}
    wrist = run.sensors["wrist"][:, 2]
    assert wrist[int(0.7 / 0.02)] == pytest.approx(0.7 * G, abs=1e-6)
    assert wrist[-1] == pytest.approx(2 * 0.7 * G, abs=1e-6)
    # the pads touch the box with the lower third of their height
    assert run.sensors["left"][-1].sum() == pytest.approx(5, abs=0.01)
    above = [run.sensors["left"][-1][:, 4:], run.sensors["right"][-1][4:].T]
    np.testing.assert_allclose(above, 0, atol=1e-12)
    np.testing.assert_allclose(run.sensors["right"][-1][:4], 5 / 16, rtol=0.02)


def test_a_step_reads_what_the_run_reads(gripper, run):
    k = 100
    at = gripper.step(run.q[k], t=run.t[k])[1].sensors
    assert {name: array.shape for name, array in at.items()} == {"wrist": (6,), "left": (4, 12), "right": (12, 4), "range": ()}
    np.testing.assert_allclose(at["wrist"], run.sensors["wrist"][k], atol=1e-6)
    np.testing.assert_allclose(at["range"], run.sensors["range"][k], atol=1e-9)
    report = gripper.step(run.q[k], t=run.t[k])[1]
    again = pickle.loads(pickle.dumps(report))
    for name, array in report.sensors.items():
        np.testing.assert_array_equal(again.sensors[name], array)


def test_files_keep_the_readings(run, tmp_path):
    files = [file.name for file in run.save(tmp_path, csv=True, page=False)]
    assert "sensors.csv" in files
    again = qs.read_run(tmp_path)
    for name, array in run.sensors.items():
        np.testing.assert_array_equal(again.sensors[name], array)
    assert again.sensor_units == {"wrist": "N, N·m", "left": "N", "right": "N", "range": "m"}
    table = np.genfromtxt(tmp_path / "sensors.csv", delimiter=",", names=True)
    np.testing.assert_array_equal(table["wristfz"], run.sensors["wrist"][:, 2])
    np.testing.assert_array_equal(table["t"], run.t[1:].round(12))


def test_joint_states_come_back_from_mcap(gripper, run, tmp_path):
    path = tmp_path / "run.mcap"
    run.save_mcap(path)
    motion = qs.Motion.read(gripper, path)
    np.testing.assert_array_equal(motion.q, run.q)
    np.testing.assert_array_equal(motion.u, run.u)
    path.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(ValueError, match="run.mcap: MCAP file ended"):
        qs.Motion.read(gripper, path)


def test_scenes_without_sensors_read_nothing():
    system = qs.load("scenes/pinch.yml")
    run = system.simulate(duration=0.1)
    assert run.sensors == {} and not system.sensors
    assert system.step(system.q0)[1].sensors == {}
