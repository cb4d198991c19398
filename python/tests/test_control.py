"""Plans through contact: from scenes, from matrices, in closed loop."""

import copy
import pickle

import numpy as np
import pytest

import quasistep as qs

H = 0.1
CART = {"A": [[1, H], [0, 1]], "B": [[H * H], [H]], "C": [[H], [1]], "D": [[1, 0]], "E": [[0]], "f": [0, 0], "a": [0]}


@pytest.fixture(scope="module")
def point_robot():
    return qs.load("scenes/point_robot.yml")


@pytest.fixture(scope="module")
def hand():
    return qs.load("scenes/planar_hand.yml")


def test_first_costs_are_those_of_the_note(point_robot):
    """MpcNote, Fig. 4: 156 five steps ahead, 505 twenty steps ahead."""
    near = point_robot.mpc().plan()
    far = point_robot.with_({"mpc.horizon": 20}).mpc().plan()
    assert near.status == far.status == "optimal"
    np.testing.assert_allclose([near.cost, far.cost], [155.904712, 505.425910], rtol=1e-8)
    assert near.gap <= 1e-9 and near.bound <= near.cost and near.nodes >= 1


def test_plan_satisfies_its_system(point_robot):
    mpc = point_robot.with_({"mpc.horizon": 20}).mpc()
    lcs, plan = mpc.models[0], mpc.plan()
    x, u, gamma = plan.states, plan.inputs, plan.impulses
    moved = x[:-1] @ lcs.A.T + u @ lcs.B.T + gamma @ lcs.C.T + lcs.f
    np.testing.assert_allclose(moved, x[1:], atol=1e-9)
    assert max(lcs.residual(a, b) for a, b in zip(x[1:], gamma, strict=True)) < 1e-8
    assert (np.abs(u) <= 1 + 1e-9).all()


def test_modes_are_those_of_the_impulses(point_robot):
    mpc = point_robot.with_({"mpc.horizon": 20}).mpc()
    plan = mpc.receding_horizon(steps=30)[-1]
    normal = plan.impulses[:, [c.normal for c in plan.contacts]]
    slip = plan.impulses[:, [c.slip for c in plan.contacts]]
    assert plan.modes.shape == (20, 3) and (plan.modes == qs.Mode.SLIDE).any()
    np.testing.assert_array_equal(plan.modes == qs.Mode.SEPARATE, normal <= 1e-8)
    np.testing.assert_array_equal(plan.modes == qs.Mode.SLIDE, (normal > 1e-8) & (slip > 1e-6))


def test_matrices_by_hand_give_the_plan_of_the_scene(point_robot):
    """The scene's prediction, passed as bare arrays, is the same problem."""
    own = point_robot.mpc()
    lcs = own.models[0]
    bare = qs.Lcs(lcs.A, lcs.B, lcs.C, lcs.D, lcs.E, lcs.f, lcs.a)
    assert [c.normal for c in bare.contacts] == [0, 1, 2]          # recognised by their numbers
    mpc = qs.Mpc(
        bare, horizon=5, goal=[3, -5, 0, 0], Q=1, R=10, state=[5, 5, 1, 1], input=1, start=[-2, -4, 0, 0]
    )
    np.testing.assert_array_equal(mpc.plan().inputs, own.plan().inputs)


def test_one_model_for_each_step_is_that_model_for_all():
    lcs = qs.Lcs(**CART)
    given = {"horizon": 6, "goal": [-1, 0], "Q": [10, 0.1], "R": 0.1, "input": 5}
    one = qs.Mpc(lcs, **given).plan([0.2, 0.0])
    each = qs.Mpc([lcs] * 6, **given).plan([0.2, 0.0])
    np.testing.assert_array_equal(one.states, each.states)
    assert one.states[:, 0].min() > -1e-9 and (one.modes == qs.Mode.SEPARATE).size == 0


def test_no_plan_is_an_answer_with_its_reason():
    mpc = qs.Mpc(qs.Lcs(**CART), horizon=3, goal=[0, 0], Q=1, R=1, input=0.1, state=([0.5, -9], [9, 9]))
    plan = mpc.plan([1.0, -4.0])
    assert plan.status == "infeasible" and not plan and plan.cost == plan.gap == np.inf
    assert plan.conflict and plan.states.shape == (0, 2) and plan.modes.shape[0] == 0
    soft = qs.Mpc(
        qs.Lcs(**CART), horizon=3, goal=[0, 0], Q=1, R=1, input=0.1, state=([0.5, -9], [9, 9]), soft=100
    ).plan([1.0, -4.0])
    assert soft and soft.relaxed


def test_a_search_cut_short_says_how_far_it_may_be_off(hand):
    mpc = hand.with_({"mpc.horizon": 8, "mpc.max_nodes": 1}).mpc()
    plan = mpc.plan(seconds=10.0)
    assert plan.status in ("feasible", "optimal") and plan.bound <= plan.cost
    assert np.isclose(plan.gap, plan.cost - plan.bound, atol=1e-12)


def test_warm_start_changes_no_answer(point_robot):
    mpc = point_robot.mpc()
    first = mpc.plan()
    warm, cold = (mpc.plan(first.states[1], warm=w) for w in (first, None))
    assert np.isclose(warm.cost, cold.cost, rtol=1e-9) and warm.status == cold.status == "optimal"


def test_copies_plan_the_same(point_robot):
    mpc = point_robot.mpc()
    plan = mpc.plan()
    for again in (pickle.loads(pickle.dumps(mpc)), copy.deepcopy(mpc)):
        np.testing.assert_array_equal(again.plan().inputs, plan.inputs)
    back = pickle.loads(pickle.dumps(plan))
    np.testing.assert_array_equal(back.states, plan.states)
    assert mpc.plan(plan.states[1], warm=back).nodes == mpc.plan(plan.states[1], warm=plan).nodes
    lcs = pickle.loads(pickle.dumps(mpc.models[0]))
    assert lcs.gammas == mpc.models[0].gammas and lcs.contacts == mpc.models[0].contacts


def test_problems_that_do_not_fit_are_named():
    lcs = qs.Lcs(**CART)
    given = {"horizon": 2, "goal": [0, 0], "Q": 1, "R": 1}
    for change, said in [
        ({"Q": [1, 2, 3]}, "`Q` has 3 entries"),
        ({"R": -1}, "`R` must be symmetric"),
        ({"goal": [0]}, "goal"),
        ({"state": [1, 2, 3]}, "`state` does not fit 2 entries"),
        ({"input": ([1], [0])}, "lower 1 is above upper 0"),
        ({"horizon": 0}, "`horizon` is 0"),
    ]:
        with pytest.raises(qs.ProblemError, match=said):
            qs.Mpc(lcs, **{**given, **change})
    with pytest.raises(qs.ProblemError, match="no start"):
        qs.Mpc(lcs, **given).plan()
    with pytest.raises(qs.ProblemError, match="`x0` has 3 entries"):
        qs.Mpc(lcs, **given).plan([0, 0, 0])
    with pytest.raises(qs.ProblemError, match="`a` is nan|`a` is NaN"):
        qs.Lcs(**{**CART, "a": [np.nan]})


def test_scene_without_a_section_says_so(pinch):
    with pytest.raises(qs.SceneError, match="no `mpc` section") as caught:
        pinch.mpc()
    assert caught.value.key == "mpc" and caught.value.file.endswith("pinch.yml")
    with pytest.raises(qs.ProblemError, match="has an orientation in space"):
        pinch.lcs()


def test_closed_loop_reaches_its_goal(hand):
    """docs/control.md: two fingers turn a box to (0.05, 0.08, 0.8)."""
    run = hand.control()
    box = hand.dofs.indices("box.*")
    np.testing.assert_allclose(run.x[-1, box], [0.05, 0.08, 0.8], atol=1e-3)
    assert run.proven == len(run.plans) == 30 and run.error is None
    assert run.q.shape == (61, 7) and run.x.shape == (31, 14)     # two simulator steps in each
    np.testing.assert_allclose(run.q[-1], run.x[-1, :7], atol=1e-12)
    np.testing.assert_array_equal(run.inputs[3], run.plans[3].inputs[0])
    assert all(plan.modes.shape == (5, 2) or len(plan.contacts) != 2 for plan in run.plans)


def test_closed_loop_has_the_files_of_the_command_line(point_robot, tmp_path):
    run = point_robot.with_({"mpc.steps": 4}).control()
    names = {path.name for path in run.save(tmp_path, csv=True)}
    assert {"mpc.csv", "states.csv", "impulses.svg", "cost.svg"} <= names
    header, *rows = (tmp_path / "mpc.csv").read_text().splitlines()
    assert header.split(",") == list(run.columns) and len(rows) == 4
    back = pickle.loads(pickle.dumps(run))
    assert back.csv == run.csv and back.plans[2].cost == run.plans[2].cost


def test_a_loop_without_a_plan_keeps_what_it_did(point_robot):
    shut = point_robot.with_({"mpc.bounds": {"position": 5, "velocity": 1, "input": 0}, "mpc.start_velocity": [0, -1]})
    with pytest.raises(qs.NoPlanError, match="cannot all hold|no plan") as caught:
        shut.with_({"mpc.bounds": {"position": {"robot.y": [-4.05, 5]}, "input": 0}}).control()
    assert len(caught.value.run.x) >= 1


def test_progress_of_a_loop_ends_at_all(point_robot):
    seen = []
    point_robot.with_({"mpc.steps": 5}).control(progress=lambda done, n: seen.append((done, n)))
    assert seen[-1] == (5, 5)


def test_lcs_is_the_step_while_contacts_stick_or_are_open(hand):
    """A quasi-dynamic step of the prediction and one of the simulator agree where no contact slides."""
    lcs = hand.lcs(margin=0.1, h=hand.h)
    u = np.array([0.01, 0.0, -0.01, 0.0])
    x = np.concatenate([hand.q0, np.zeros(7)])
    q1, report = hand.step(hand.q0, hand.commanded(hand.q0) + u)
    free = lcs.A @ x + lcs.B @ u + lcs.f
    closing = [c for c in report.contacts if c["fn"] > 0]
    assert not closing                              # fingers are 1 cm from the box and stop before it
    np.testing.assert_allclose(free[:7], q1, atol=1e-12)


def test_linearisation_is_the_geometry(push):
    at = push.linearise(margin=0.05)
    v = np.random.default_rng(0).standard_normal(push.n_v)
    # the box's mass and the weight that it feels
    box = push.dofs.indices(["box.vx", "box.vy", "box.vz"])
    np.testing.assert_allclose(np.diag(at.mass)[box], 0.8)
    np.testing.assert_allclose(at.gravity_force[box], [0, 0, -0.8 * 9.81])
    # gaps open at J_n v: central differences over the finger's slides, which are coordinates themselves
    eps = 1e-6
    for dof in range(2):
        q = np.array([push.q0, push.q0])
        q[0, dof] += eps
        q[1, dof] -= eps
        up, down = push.linearise(q[0], margin=0.05).phi, push.linearise(q[1], margin=0.05).phi
        np.testing.assert_allclose((up - down) / (2 * eps), at.J_n[:, dof], atol=1e-8)
    assert np.isfinite(at.J_t @ v).all()


def test_another_goal_is_another_plan_and_leaves_the_problem_as_it_was():
    mpc = qs.Mpc(qs.Lcs(**CART), horizon=6, goal=[1, 0], Q=[10, 0.1], R=0.1, input=5)
    own = mpc.plan([0.2, 0.0])
    line = np.column_stack([np.linspace(0.2, 0.5, 7), np.zeros(7)])
    other = mpc.plan([0.2, 0.0], goal=line)
    assert other.cost < own.cost
    np.testing.assert_array_equal(mpc.plan([0.2, 0.0]).inputs, own.inputs)
    same = qs.Mpc(qs.Lcs(**CART), horizon=6, goal=line, Q=[10, 0.1], R=0.1, input=5).plan([0.2, 0.0])
    np.testing.assert_array_equal(same.inputs, other.inputs)


def test_a_goal_that_moves_is_followed(point_robot):
    moving = point_robot.with_({"mpc.goal": {"robot.x": "-2 + 0.5*t", "robot.y": -4}, "mpc.steps": 8})
    run = moving.control()
    assert run.trajectory.shape[0] > 1 and run.trajectory[1, 0] > run.trajectory[0, 0]
    np.testing.assert_allclose(moving.mpc().plan().cost, run.cost[0], rtol=1e-9)


@pytest.mark.parametrize("format", ["lp", "mps"])
@pytest.mark.parametrize("integers", ["sos1", "big_m", "indicator"])
def test_problems_are_files_for_other_solvers(point_robot, format, integers):
    # big-M needs a bound of every impulse
    own = point_robot.mpc()
    given = {**own._given, "impulse": 10.0}
    text = qs.Mpc(own.models, **given).export(format=format, integers=integers)
    assert "u0_0" in text and ("QUADOBJ" in text) == (format == "mps")
    with pytest.raises(qs.ProblemError, match="format is 'csv'"):
        own.export(format="csv")
