"""Parameters from recorded motions."""

import numpy as np
import pytest

import quasistep as qs

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
