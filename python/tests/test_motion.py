"""Recorded motions: of ROS 2, beside the step, and as joint trajectories."""

import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import quasistep as qs

#: The run of :func:`push` as ROS 2 has it: joint states each 10 ms, states of a trajectory controller, poses of the box each 20 ms
#: as a camera sees a tag, and where the camera stands. Written with mcap-ros2-support 0.6, chunks compressed by zstd.
BAG = Path(__file__).parent / "data" / "push_of_ros2.mcap"
NAMES = {"finger_x": "finger.x", "finger_y": "finger.y", "tag_3": "box"}


@pytest.fixture(scope="module")
def push():
    return qs.load("scenes/planar_push.yml", set={"step.size": 0.01, "step.relaxation": 1})


def test_a_bag_of_ros_is_the_run_that_was_recorded(push):
    run = push.simulate(duration=2.0)
    motion = qs.Motion.read(push, BAG, names=NAMES)
    np.testing.assert_allclose(motion.u, run.u, atol=1e-12)
    # between two pictures poses are interpolated; where the finger hits the box, it starts to turn at 0.1 rad/s, for 10 ms unseen
    np.testing.assert_allclose(motion.q[::2], run.q[::2], atol=1e-9)
    np.testing.assert_allclose(motion.q, run.q, atol=5e-4)
    # each step from where the camera saw the box leads to where it saw it next
    seen = qs.Motion.read(push, BAG, names=NAMES, h=0.02)
    off = qs.compare(push.with_({"step.size": 0.02}), seen)
    assert off.stopped is None and off.steps.shape == (100, push.n_v)
    assert np.abs(off.steps).max() < 1e-3
    # a box of twice the weight would bend the spring of 800 N/m by 4 mm more
    heavy = qs.compare(push.with_({"step.size": 0.02, "models.box.mass": 1.6}), seen)
    assert np.abs(heavy.replay[:, 0]).max() > 3e-3 > 30 * np.abs(off.replay[:, 0]).max()
    # and mass comes out of the bag
    found = qs.identify(push, [motion], {"mass": qs.Parameter("models.box.mass", (0.2, 2.0))})
    assert found.values["mass"] == pytest.approx(0.8, rel=0.02)


@pytest.mark.parametrize(
    ("names", "h", "says"),
    [
        ({}, None, "push_of_ros2.mcap: `finger_x` is unknown .did you mean `finger.x`"),
        ({**NAMES, "tag_4": "box"}, None, "`names`: it has nothing about `tag_4` .did you mean `tag_3`"),
        ({**NAMES, "tag_3": "bx"}, None, "`tag_3` is to be `bx`, which is no body; bodies are world, table/table"),
        ({**NAMES, "finger_y": None}, None, "no command for `finger.y`.*commands seen: finger.x"),
        (NAMES, -0.1, "h is -0.1"),
        (NAMES, 10.0, "it lasts 2 s; at least one step of 10 s is needed"),
    ],
)
def test_names_that_do_not_fit_are_told(push, names, h, says):
    with pytest.raises(ValueError, match=says):
        qs.Motion.read(push, BAG, names=names, h=h)


def test_what_was_not_seen_is_unknown(push):
    motion = qs.Motion.read(push, BAG, names={**NAMES, "tag_3": None})
    box = [k for k, name in enumerate(push.coordinates) if name.startswith("box")]
    assert np.isnan(motion.q[1:, box]).all() and np.isfinite(motion.q[0]).all()
    # rows closer than the pictures are, from a row before the first command on
    close = qs.Motion.read(push, BAG, names=NAMES, h=0.005)
    assert np.isfinite(close.q).all() and len(close.u) == 399


def test_a_run_repeats_itself(push):
    run = push.simulate(duration=1.0)
    for of in (run, qs.RecordedRun(run.recording), qs.Motion(run.q, run.u)):
        off = qs.compare(push, of)
        assert off.stopped is None
        assert np.abs(off.steps).max() < 1e-9 and np.abs(off.replay).max() < 1e-9
    fall = qs.load("scenes/fall.yml")
    run = fall.simulate(duration=0.3)
    assert np.abs(qs.compare(fall, run).steps).max() < 1e-9
    assert np.abs(qs.compare(fall, qs.Motion(run.q, run.u)).steps).max() < 1e-6
    with pytest.raises(ValueError, match="its coordinates are"):
        qs.compare(push, run)
    with pytest.raises(ValueError, match="h is 0; it must be > 0"):
        qs.compare(fall, qs.Motion(run.q, run.u), h=0)


def test_commands_go_to_a_robot(push, tmp_path, monkeypatch):
    run = push.simulate(duration=2.0)
    trajectory = run.trajectory()
    assert repr(trajectory) == "JointTrajectory(x, y: 200 points to 2 s)"
    # what a spring of this stiffness feels at the recorded place is the effort: at last the friction of the box, of which a push
    # beside its middle feels a part, for the box turns
    bent = trajectory.stiffness * (trajectory.positions - run.q[1:, :2])
    np.testing.assert_allclose(bent, trajectory.effort, atol=1e-9)
    friction = 0.4 * 0.8 * 9.81
    assert 0.85 * friction < trajectory.effort[-1, 0] < friction
    trajectory.save(tmp_path / "t.json")
    trajectory.save(tmp_path / "t.yaml")
    read = json.loads((tmp_path / "t.json").read_text())
    assert read["joint_trajectory"]["points"][149]["time_from_start"] == {"sec": 1, "nanosec": 500_000_000}
    assert "time_from_start: {sec: 1, nanosec: 500000000}" in (tmp_path / "t.yaml").read_text()
    if "trajectory_msgs" not in sys.modules:
        with pytest.raises(ImportError, match=r"install ROS 2 .* save\(\) writes the same fields"):
            trajectory.to_ros()
    # messages that have these fields and no others, as those of ROS
    message = lambda name, **fields: type(name, (), {"__slots__": list(fields), "__init__": lambda self, **own: [setattr(self, k, v) for k, v in (fields | own).items()] and None})
    point = message("Point", positions=[], velocities=[], accelerations=[], effort=[], time_from_start=None)
    fakes = {
        "builtin_interfaces.msg": {"Duration": message("Duration", sec=0, nanosec=0)},
        "trajectory_msgs.msg": {"JointTrajectory": message("Trajectory", header=None, joint_names=[], points=[]), "JointTrajectoryPoint": point},
    }
    for name, own in fakes.items():
        package = types.ModuleType(name)
        vars(package).update(own)
        monkeypatch.setitem(sys.modules, name.split(".")[0], types.ModuleType(name.split(".")[0]))
        monkeypatch.setitem(sys.modules, name, package)
    sent = trajectory.to_ros(effort=True)
    assert sent.joint_names == ["x", "y"] and len(sent.points) == 200
    assert (sent.points[149].time_from_start.sec, sent.points[149].time_from_start.nanosec) == (1, 500_000_000)
    assert sent.points[149].positions == trajectory.positions[149].tolist()
    with pytest.raises(ValueError, match=r"no joint of the model `hand` has a command; commands are: finger.x, finger.y"):
        run.trajectory("hand")
