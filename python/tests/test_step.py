"""Steps are pure functions of their arguments."""

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from conftest import SCENES

import quasistep as qs


def test_step_is_the_scene_run_step_by_step(push):
    run = push.simulate()
    q, warm = push.q0, None
    for k in range(10):
        u, v = push.command((k + 1) * push.h)
        q, report = push.step(q, u, h=push.h, t=k * push.h, v=v, warm=warm)
        warm = report.warm_start
        # a run carries the warm start from step to step, as here: the same bits
        np.testing.assert_array_equal(q, run.q[k + 1])
        np.testing.assert_array_equal(report.effort, run.effort[k])


def test_scene_command_is_the_default(push):
    explicit = push.step(push.q0, push.command(push.h)[0])[0]
    np.testing.assert_array_equal(push.step(push.q0)[0], explicit)


def test_same_arguments_give_the_same_bits_whatever_was_before(push):
    u = push.commanded(push.q0) + [0.05, 0.01]
    first = push.step(push.q0, u)[0]
    push.simulate(duration=1.0)
    push.step(first, u)
    np.testing.assert_array_equal(push.step(push.q0, u)[0], first)
    np.testing.assert_array_equal(qs.load("scenes/planar_push.yml", set={"step.cone": 8}).step(push.q0, u)[0], first)


def test_contacts_balance_the_weight(pinch):
    _, report = pinch.step(pinch.q0)
    c = report.contacts
    assert c.dtype == qs.CONTACT and {"a", "b", "p", "n", "phi", "fn", "f", "mode"} <= set(c.dtype.names)
    held = pinch.bodies.index("held/held")
    sign = np.where(c["b"] == held, 1.0, np.where(c["a"] == held, -1.0, 0.0))
    # certified to 1e-7 of the largest force, 3 N
    np.testing.assert_allclose((sign[:, None] * c["f"]).sum(axis=0), [0, 0, 0.045 * 9.81], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(c["n"], axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose((c["f"] * c["n"]).sum(axis=1), c["fn"], atol=1e-12)
    assert report.certificate.force_balance < 1e-6
    assert set(report.timing) >= {"distance", "solve"} and sum(report.timing.values()) > 0


def test_wrenches_add_to_those_of_the_scene():
    door = qs.load("scenes/door.yml")
    shut = door.step(door.q0)[1]
    # the closer's 1 N·m undone
    free = door.step(door.q0, wrenches=[qs.Wrench("door", torque=(0, 0, -1))])[1]
    assert shut.contacts["fn"].sum() > free.contacts["fn"].sum()


def test_parameters_of_one_call_do_not_stick(push):
    round_cone = push.params.replace(cone="round", gravity=[0, 0, -1])
    base = push.step(push.q0)[0]
    other = push.step(push.q0, params=round_cone)[1]
    assert other.contacts["fn"].sum() < 1.0                 # 0.8 kg at 1 m/s²
    np.testing.assert_array_equal(push.step(push.q0)[0], base)
    assert push.step(push.q0, params=round_cone, h=0.2)[1].time == 0.2


@pytest.mark.parametrize("scene", SCENES)
def test_every_scene_pickles_with_its_files(scene, tmp_path, monkeypatch):
    system = qs.load(f"scenes/{scene}.yml")
    packed = pickle.dumps(system)
    # no file of the scene is to be found from here on
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(packed)
    q = system.step(system.q0)[0]
    np.testing.assert_array_equal(again.step(again.q0)[0], q)
    assert again.coordinates == system.coordinates and again.commands == system.commands


def test_everything_pickles_and_copies(push):
    q, report = push.step(push.q0)
    run = push.simulate(duration=0.2)
    for copied in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):
        np.testing.assert_array_equal(copied.contacts, report.contacts)
        np.testing.assert_array_equal(copied.effort, report.effort)
        assert copied.certificate == report.certificate
        assert copied.warm_start == report.warm_start
    for copied in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        np.testing.assert_array_equal(copied.q, run.q)
        np.testing.assert_array_equal(copied.contacts, run.contacts)
        assert copied.recording.page() == run.recording.page()
    assert pickle.loads(pickle.dumps(push.params)) == push.params
    _, batch = push.step_batch(push.q0, [[0.0, 0.0], [np.nan, 0.0]], report=True)
    copied = pickle.loads(pickle.dumps(batch))
    np.testing.assert_array_equal(copied.effort, batch.effort)
    assert str(copied.errors[1]) == str(batch.errors[1]) and copied.reports[1] is None
    assert copy.deepcopy(push).n_q == push.n_q
    assert pickle.loads(pickle.dumps(push.commands)).index("finger.y") == 1


def _step_elsewhere(system, q):
    return system.step(q)[0]


def test_another_process_computes_the_same_bits(push):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(_step_elsewhere, push, push.q0).result()
    np.testing.assert_array_equal(there, push.step(push.q0)[0])


def test_import_is_quick():
    # a second is no promise of speed, but of nothing heavy: matplotlib alone takes that
    code = "import sys, quasistep; print(*[m for m in ('matplotlib', 'ray', 'IPython') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == ""


def test_exact_friction_carries_its_warm_start(push):
    """Steps that hand their warm start on are those of a run, which keeps it, to the bit; cold ones its answers."""
    params = push.params.replace(friction="exact")
    run = push.simulate(duration=2.0, params=params)
    q, warm = push.q0, None
    for k, t in enumerate(run.t[:-1]):
        cold = push.step(q, t=t, params=params)[0]
        q, report = push.step(q, t=t, params=params, warm=warm)
        np.testing.assert_array_equal(q, run.q[k + 1])
        np.testing.assert_allclose(q, cold, atol=1e-8)
        warm = pickle.loads(pickle.dumps(report.warm_start))
        assert warm == report.warm_start and len(warm) > 0


def test_uniqueness_names_what_may_differ():
    """A block that slides on four corners: its motion is determined, its corners' forces are not, their sum is."""
    scene = qs.SystemBuilder(step={"size": 0.05, "inertia": "mass"})
    scene.model("table", joint="fixed", friction=0.5, shape=qs.half_space())
    scene.model("block", mass=1, pose={"xyz": [0, 0, 0.05]}, shape=qs.box([0.1, 0.1, 0.1]))
    answer = scene.build().uniqueness(wrenches=[qs.Wrench("block", force=(10, 0, 0))])
    assert answer.motion == "unique" and answer.forces == "shared"
    assert {(c.a, c.b) for c in answer.contacts} == {("table/table", "block/block")}
    assert answer.sums[0].body == "block/block" and "z" in answer.sums[0].axes
    assert "may be split otherwise" in answer.text
    assert pickle.loads(pickle.dumps(answer)) == answer


def test_uniqueness_is_in_the_report_if_asked_for(push):
    params = push.params.replace(friction="exact")
    plain = push.step(push.q0, params=params)[1]
    asked = push.step(push.q0, params=params, uniqueness=True)[1]
    assert plain.uniqueness is None and asked.uniqueness == push.uniqueness()
    convex = push.params.replace(friction="convex")
    assert push.step(push.q0, params=convex, uniqueness=True)[1].uniqueness is None  # it has one motion
    assert pickle.loads(pickle.dumps(asked)).uniqueness == asked.uniqueness


def test_a_body_that_leans_on_all_of_its_friction_is_free():
    """A puck pushed with exactly mu m g may stay or go: no mass says which, Trinkle05 Proposition 1."""
    scene = qs.SystemBuilder(step={"size": 0.1, "cone": "round", "inertia": "none"})
    scene.model("floor", joint="fixed", friction=0.5, shape=qs.half_space())
    slides = [qs.slide(axis, direction) for axis, direction in (("x", [1, 0, 0]), ("z", [0, 0, 1]))]
    scene.model("puck", joint=slides, mass=1, friction=0.5, pose={"xyz": [0, 0, 0.1]}, shape=qs.sphere(0.1))
    answer = scene.build().uniqueness(wrenches=[qs.Wrench("puck", force=(0.5 * 9.81, 0, 0))])
    assert answer.motion == "free" and answer.bodies == ["puck/puck"]
    assert set(answer.direction) == {"puck.x"}


def test_a_body_at_rest_on_four_corners_is_not_said_to_have_one_answer():
    """Its speeds are rounding, which is no slip: four corners are one more than balance needs."""
    scene = qs.SystemBuilder(step={"size": 0.05, "inertia": "mass"})
    scene.model("table", joint="fixed", friction=0.5, shape=qs.half_space())
    scene.model("block", mass=1, pose={"xyz": [0, 0, 0.05]}, shape=qs.box([0.1, 0.1, 0.1]))
    for cone in (4, "round"):
        assert scene.build().with_({"step.cone": cone}).uniqueness().forces != "unique"


def test_a_force_on_a_dof_is_a_wrench_along_it(push):
    """5 N on the finger's slide x, said either way."""
    tau = np.zeros(push.n_v)
    tau[push.dofs.index("finger.x")] = 5.0
    by_dof = push.step(push.q0, tau=tau)[0]
    by_wrench = push.step(push.q0, wrenches=[qs.Wrench("finger", force=(5, 0, 0))])[0]
    np.testing.assert_allclose(by_dof, by_wrench, atol=1e-12)


def test_momentum_is_taken_and_returned():
    """A ball thrown up, stepped with momentum: v falls by g h each step; a run is its steps, a batch too."""
    scene = qs.SystemBuilder(step={"size": 0.01, "motion": "dynamic", "inertia": "mass"})
    scene.model("floor", joint="fixed", shape=qs.half_space())
    scene.model("ball", mass=0.2, pose={"xyz": [0, 0, 1]}, shape=qs.sphere(0.05))
    ball = scene.build()
    v = np.zeros(6)
    v[ball.dofs.index("ball.vz")] = 2.0
    run = ball.simulate(np.zeros((10, 0)), v0=v)
    np.testing.assert_allclose(run.v[:, -1], 2.0 - 9.81 * 0.01 * np.arange(1, 11), atol=1e-9)
    q, u = ball.q0, v
    for k in range(3):
        q, report = ball.step(q, velocity=u)
        u = report.v
        np.testing.assert_allclose(q, run.q[k + 1], atol=1e-12)
    rows = ball.step_batch(ball.q0, np.zeros((2, 0)), velocity=[v, 0 * v])
    np.testing.assert_allclose(rows[0], run.q[1], atol=1e-12)
    assert rows[1][-1] < rows[0][-1] and not ball.v0.any()


def test_midpoint_steps_go_on_where_a_finger_leaves_a_corner():
    # midpoint's first part of the step ends at an overlap that no step goes on from
    scene = qs.SystemBuilder(step={"size": 0.4, "duration": 0.4, "integration": "midpoint"})
    support = {"friction": 0.2, "spin_radius": 0.0387}
    scene.model("box", joint="planar", mass=0.5, support=support, shape=qs.box([0.12, 0.08, 0.06]))
    slides = [qs.slide("x", [1, 0, 0], stiffness=1000), qs.slide("y", [0, 1, 0], stiffness=1000)]
    scene.model("finger", gravity=False, joint=slides, shape=qs.sphere(0.01))
    scene.friction_pair("finger", "box", mu=0.4)
    system = scene.build()
    for q, u in [
        ([-0.11508, 0.13837, 1.3817, -0.15879, 0.17602], [-0.12639, 0.19432]),
        ([-0.03327, 0.02919, 1.2653, -0.02432, 0.1001], [-0.06203, 0.08988]),
        ([0.01574, 0.21359, 1.99323, -0.036, 0.20577], [-0.03615, 0.24181]),
    ]:
        end, report = system.step(q, u)
        assert report.substeps > 1
        fine = np.asarray(q)
        for _ in range(200):
            fine = system.step(fine, u, h=0.002)[0]
        np.testing.assert_allclose(end[:2], fine[:2], atol=2.5e-3)
