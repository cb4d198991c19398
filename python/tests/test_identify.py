"""Parameters from recorded motions."""

import os

import numpy as np
import pytest

import quasistep as qs
from quasistep import _core
from quasistep._yaml import changes

SCENE = """
format: 1
step: {{size: 0.05, duration: 1, inertia: mass}}
friction: {{pairs: [{{a: finger, b: box, mu: {mu}}}]}}
models:
  table: {{joint: fixed, friction: 0.3, shape: {{half_space: {{}}}}}}
  box: {{mass: 1, friction: 0.3, pose: {{xyz: [0.0553, 0.01, 0.02]}}, shape: {{box: {{size: [0.09, 0.09, 0.04]}}}}}}
  finger:
    joint:
      - {{slide: x, axis: [1, 0, 0], stiffness: {stiffness}}}
      - {{slide: y, axis: [0, 1, 0], stiffness: 500}}
    gravity: false
    pose: {{xyz: [0, 0, 0.01]}}
    shape: {{sphere: {{radius: 0.01}}}}
collisions: {{exclude: [[finger, table]]}}
"""
FOUND = {
    "mu": qs.Parameter("friction.pairs.0.mu", (0.05, 0.9)),
    "stiffness": qs.Parameter("models.finger.joint.0.stiffness", (100.0, 2000.0)),
}
TRUE = {"mu": 0.25, "stiffness": 600.0}


def motions(noise: float, seed: int) -> list[qs.Motion]:
    """Pushes of the box of a system with the true parameters, seen with noise."""
    system = qs.loads(SCENE.format(**TRUE))
    random = np.random.default_rng(seed)
    out = []
    for way in (0.3, -0.2, 0.6):
        u = np.linspace(0, 1, 16)[1:, None] * [0.04, 0.03 * way]
        run = system.simulate(u)
        q = run.q + noise * random.standard_normal(run.q.shape) * [1e-3] * 1
        q[0] = run.q[0]
        places = system.coordinates.indices(["box.q*"])
        q[1:, places] = run.q[1:, places]
        out.append(qs.Motion(q, u))
    return out


def test_parameters_of_noisy_motions_are_within_twice_their_deviation() -> None:
    start = qs.loads(SCENE.format(mu=0.5, stiffness=300.0))
    within = 0
    for seed in range(12):
        found = qs.identify(start, motions(0.2, seed), FOUND)
        for name, true in TRUE.items():
            assert found.deviations[name] < 0.2 * true
            within += abs(found.values[name] - true) <= 2 * found.deviations[name]
    # 95 of 100 are expected
    assert within >= 21


def test_exact_motions_give_exact_parameters_from_any_start() -> None:
    start = qs.loads(SCENE.format(mu=0.5, stiffness=300.0))
    found = qs.identify(start, motions(0.0, 0), FOUND, starts=3, seed=4)
    for name, true in TRUE.items():
        assert found.values[name] == pytest.approx(true, rel=1e-4)
    assert len(found.starts) == 3
    assert found.error < 1e-2
    figure = found.plot(["box.x", "box.y", "finger.x"])
    assert len(figure.axes) == 3


def test_motions_are_read_from_tables(tmp_path) -> None:
    system = qs.loads(SCENE.format(**TRUE))
    motion = motions(0.0, 0)[0]
    path = tmp_path / "push.csv"
    names = ["box.x", "box.y"]
    places = system.coordinates.indices(names)
    lines = [",".join(["t", *names, "u.finger.x", "u.finger.y"])]
    for k, row in enumerate(motion.q):
        u = motion.u[k - 1] if k else [0.0, 0.0]
        lines.append(",".join(str(float(x)) for x in [0.05 * k, *row[places], *u]))
    path.write_text("\n".join(lines) + "\n")
    read = qs.Motion.read(system, path)
    assert np.array_equal(read.u, motion.u)
    assert np.array_equal(read.q[:, places], motion.q[:, places])
    assert np.isnan(read.q[1:, 0]).all()
    found = qs.identify(system.with_({"friction.pairs.0.mu": 0.6}), [read], {"mu": FOUND["mu"]})
    assert found.values["mu"] == pytest.approx(0.25, rel=1e-3)

    path.write_text("box.x,u.finger.z\n0,0\n0,0\n")
    with pytest.raises(ValueError, match="line 1, column 2: no name `finger.z`"):
        qs.Motion.read(system, path)
    path.write_text("box.x,u.finger.x,u.finger.y\n0,0,0\n0,0,zero\n")
    with pytest.raises(ValueError, match="line 3, column 3 .u.finger.y.: 'zero' is no number"):
        qs.Motion.read(system, path)


def test_what_cannot_be_is_told() -> None:
    system = qs.loads(SCENE.format(**TRUE))
    motion = motions(0.0, 0)[0]
    with pytest.raises(ValueError, match="must not be empty"):
        qs.identify(system, [], FOUND)
    with pytest.raises(ValueError, match="two finite bounds"):
        qs.identify(system, [motion], {"mu": qs.Parameter("friction.pairs.0.mu", (0.1, np.inf))})
    with pytest.raises(ValueError, match=r"q of motion 0 has shape \(3, 9\)"):
        qs.identify(system, [qs.Motion(motion.q[:3], motion.u)], FOUND)


MOVED = """
format: 1
step: {size: 0.05, duration: 1, inertia: mass}
friction: {pairs: [{a: finger, b: box, mu: 0.25}, {a: table, b: box, spin_radius: 0.03, compliance: 1e-6}]}
models:
  table: {joint: fixed, friction: 0.3, shape: {half_space: {}}}
  box:
    mass: 1
    com: [0.003, -0.004, 0.002]
    inertia: [1e-3, 1e-3, 1e-3]
    pose: {xyz: [0.0553, 0.01, 0.02]}
    shape: {box: {size: [0.09, 0.09, 0.04]}}
  finger:
    joint:
      - {slide: x, axis: [1, 0, 0], stiffness: 600, damping: 20}
      - {slide: y, axis: [0, 1, 0], stiffness: 500}
    gravity: false
    pose: {xyz: [0, 0, 0.01]}
    shape: {sphere: {radius: 0.01}}
collisions: {exclude: [[finger, table]]}
"""
NUMBERS = {
    "friction.pairs.0.mu": 0.25,
    "friction.pairs.1.spin_radius": 0.03,
    "friction.pairs.1.compliance": 1e-6,
    "models.table.friction": 0.3,
    "models.box.mass": 1.0,
    "models.box.com.1": -0.004,
    "models.finger.joint.0.stiffness": 600.0,
    "models.finger.joint.0.damping": 20.0,
}


@pytest.mark.parametrize(
    ("foundation", "motion"), [(False, "quasi_static"), (True, "quasi_static"), (False, "dynamic")]
)
def test_slopes_of_runs_are_those_of_differences(foundation: bool, motion: str) -> None:
    """What `identify` chains along a motion, against runs with a little more and a little less of each number."""
    numbers = dict(NUMBERS)
    system = qs.loads(MOVED).with_({"step.motion": motion})
    if foundation:
        # points of a foundation give way by it alone
        del numbers["friction.pairs.1.compliance"]
        numbers["friction.pairs.1.foundation"] = 3e7
        system = system.with_({"friction.pairs.1.foundation": 3e7})
    u = np.linspace(0, 1, 9)[1:, None] * [0.03, 0.006]
    q0 = system.q0
    # shares by which numbers change: less, and what differences leave of a micrometre per newton is rounding
    moves = {key: value * (1e-2 if key.endswith("compliance") else 1e-3) for key, value in numbers.items()}
    sets = [[changes({key: value + way * moves[key]}) for key, value in numbers.items()] for way in (-1, 1)]
    by = [2 * move for move in moves.values()]
    of = _core.Changes(system, *sets, by, len(u))
    assert of.known == list(range(len(numbers)))
    q, slopes, lost = of.of_runs(system, q0[None], None, u[None], 1, len(u), 1)
    assert not lost
    run = system.simulate_batch(u[None])[0]
    assert np.allclose(q.reshape(run.shape), run, atol=1e-9)
    slopes = slopes.reshape(len(u), len(numbers), system.n_q)
    for k, (key, value) in enumerate(numbers.items()):
        less, more = (system.with_({key: value + w * moves[key]}).simulate_batch(u[None])[0] for w in (-1, 1))
        want = (more - less) / by[k]
        assert abs(want * value).max() > 1e-6, f"{key} does nothing"
        assert np.allclose(slopes[:, k], want, atol=1e-5 * abs(want).max()), f"{key}: {slopes[:, k]} {want}"


def test_numbers_without_derivatives_are_told_and_fitted_by_differences() -> None:
    system = qs.loads(SCENE.format(**TRUE))
    keys = {"models.box.shape.box.size.0": 0.09, "models.box.mass": 1.0, "step.size": 0.05}
    sets = [[changes({key: value * (1 + way * 1e-3)}) for key, value in keys.items()] for way in (-1, 1)]
    assert _core.Changes(system, *sets, [1e-3] * 3, 3).known == [1]
    exact = system.with_({"step.friction": "exact"})
    assert _core.Changes(exact, *sets, [1e-3] * 3, 3).known == [1]
    moving = system.with_({"step.motion": "dynamic"})
    assert _core.Changes(moving, *sets, [1e-3] * 3, 3).known == [1]
    halfway = system.with_({"step.integration": "midpoint"})
    assert _core.Changes(halfway, *sets, [1e-3] * 3, 3).known == []
    start = system.with_({"models.finger.joint.0.stiffness": 300})
    u = np.linspace(0, 1, 16)[1:, None] * [0.04, 0.01]
    run = exact.simulate(u)
    found = qs.identify(
        start.with_({"step.friction": "exact"}), [qs.Motion(run.q, run.u)], {"stiffness": FOUND["stiffness"]}
    )
    assert found.values["stiffness"] == pytest.approx(600, rel=1e-3)


def test_a_pipe_is_no_table(push, tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, "/dev/zero"):
        with pytest.raises(ValueError, match="a folder, a pipe or a device"):
            qs.Motion.read(push, path)
    huge = tmp_path / "huge.csv"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="at most 67108864 are read"):
        qs.Motion.read(push, huge)


def test_a_motion_is_read_from_the_folder_of_a_run(tmp_path):
    system = qs.load("scenes/planar_push.yml")
    run = system.simulate(duration=1.0)
    run.save(tmp_path, csv=True, page=False)
    motion = qs.Motion.read(system, tmp_path)
    assert (np.asarray(motion.q) == run.q).all() and (np.asarray(motion.u) == run.u).all()
    found = qs.identify(system, [motion], {"mass": qs.Parameter("models.box.mass", (0.05, 5.0))})
    assert str(found).startswith("mass: ") and len(str(found).splitlines()) == 3
    with pytest.raises(ValueError, match="its coordinates are .*box.x.*; those of the system are"):
        qs.Motion.read(qs.load("scenes/pinch.yml"), tmp_path)
    with pytest.raises(ValueError, match="no command for `finger.x`; give a column `u.finger.x`, or the folder of a run"):
        qs.Motion.read(system, tmp_path / "states.csv")
