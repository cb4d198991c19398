"""Plans to goals, and their check."""

import numpy as np
import pytest

import quasistep as qs


@pytest.fixture(scope="module")
def pusher() -> qs.System:
    return qs.load("scenes/push_to_pose.yml")


def test_a_box_is_pushed_to_a_pose(pusher) -> None:
    pose = pusher.pose("box", pusher.q0) + [0, 0, 0, 0, 0.06, 0.0, 0]
    goal = qs.PoseGoal("box", pose, angle=0.1, distance=0.005)
    seen = []
    plan = pusher.plan(
        goal, planner="mppi", region=0.02, rates=0.5, lower=-1, upper=[1, 1], threads=2,
        progress=lambda done, most: seen.append((done, most)),
    )  # fmt: skip
    assert plan.solved and plan.status == "reached" and not plan.refusals
    assert plan.u.shape == (len(plan.errors) - 1, 2) and plan.q.shape == (len(plan.errors), 5)
    assert np.abs(np.diff(np.vstack([pusher.commanded(pusher.q0), plan.u]), axis=0)).max() <= 0.05 + 1e-9
    # a replay by hand, in steps of a tenth
    q, last, warm = pusher.q0, pusher.commanded(pusher.q0), None
    for u in plan.u:
        for k in range(1, 11):
            q, report = pusher.step(q, last + k / 10 * (u - last), h=plan.h / 10, warm=warm)
            warm = report.warm_start
        last = u
    np.testing.assert_allclose(q, plan.q[-1], atol=1e-6)
    off = pusher.pose("box", q) - pose
    assert np.linalg.norm(off[4:]) <= 0.005
    again = pusher.plan(goal, planner="mppi", region=0.02, rates=0.5, lower=-1, upper=1, threads=1)
    assert np.array_equal(again.u, plan.u)


def test_a_joint_has_a_goal_and_what_is_out_of_reach_is_not_solved(pusher) -> None:
    goal = qs.JointGoal("finger.y", 0.1, tolerance=0.005)
    assert pusher.plan(goal, region=0.05).solved
    stuck = pusher.plan(goal, upper=[1, 0.05], patience=3)
    assert not stuck.solved and stuck.status == "stalled"
    assert "missed" in stuck.refusals[0]
    assert stuck.errors[-1, 3] == stuck.errors[:, 3].min()
    # in turn, and together
    two = [goal, [qs.JointGoal("finger.y", 0.0), qs.JointGoal("finger.x", -0.15)]]
    plan = pusher.plan(two)
    assert plan.solved and len(plan.reached) == 2


def test_mistakes_are_told_before_the_search(pusher) -> None:
    pose = pusher.pose("box", pusher.q0)
    for goal, options, why in [
        (qs.PoseGoal("box", pose, angle=0.0), {}, "angle of goal 0 is 0; it must be > 0"),
        (qs.PoseGoal("box", pose), {"lower": 0}, "command `finger.x` starts at -0.12, outside of its bounds 0 to inf"),
        (qs.PoseGoal("box", pose[:6]), {}, r"`pose` has shape \(6,\)"),
        (qs.JointGoal("finger.z", 0.0), {}, "no joint coordinate `finger.z`"),
        (qs.JointGoal("finger.y", 0.0), {"planner": "rrt"}, "planner is 'rrt'"),
        (qs.JointGoal("finger.y", 0.0), {"horizon": 0}, "horizon is 0; it must be ≥ 1"),
        ([], {}, "goal 0 has no target"),
        (qs.JointGoal("finger.y", 0.0), {"regrasps": qs.Regrasp("finger", "box", clearance=0)}, "is drawn from -inf"),
        (qs.JointGoal("finger.y", 0.0), {"regrasps": qs.Regrasp(["finger"] * 3, ["box"] * 2)}, "3 links and 2 bodies"),
    ]:
        with pytest.raises(ValueError, match=why):
            pusher.plan(goal, **options)
    with pytest.raises(qs.QuasistepError, match="boxx"):
        pusher.plan(qs.PoseGoal("boxx", pose))


def test_a_finger_takes_another_side_of_the_box() -> None:
    """A person would see it lift off, go around the box, and push from there."""
    system = qs.load("scenes/push_around.yml")
    ranges = {"finger.x": (-0.5, 0.5), "finger.y": (-0.5, 0.5)}
    grasp = qs.Regrasp("finger", "box", ranges, clearance=0.005, distance=1e-3)
    goal = qs.PoseGoal("box", [np.cos(0.6), 0, 0, np.sin(0.6), -0.25, 0, 0])
    words = {"region": 0.02, "rates": 0.5, "steps": 400, "patience": 8, "threads": 1}
    # it cannot pull the box to its side
    assert not system.plan(goal, attempts=3, **words).solved
    plan = system.plan(goal, attempts=100, regrasps=[grasp], **words)
    assert plan.solved, plan
    assert np.abs(plan.u[:, :2]).max() <= 0.7


def test_errors_at_goals_are_those_of_plans(pusher) -> None:
    goals, plan = pusher.goals, pusher.plan_scene()
    assert len(plan.reached) == len(goals) == 2
    in_turn = [goals[sum(k > end for end in plan.reached)] for k in range(len(plan.q))]
    told = [pusher.goal_errors(goal, q) for goal, q in zip(in_turn, plan.q, strict=True)]
    np.testing.assert_allclose(told, plan.errors, atol=1e-12)
    assert told[-1][3] <= 1 < told[0][3]
    # both targets of a goal count
    joint = qs.JointGoal("finger.x", pusher.q0[0] + 0.02)
    assert pusher.goal_errors([*goals[1], joint], plan.q[-1])[3] > 1
    assert pusher.goal_errors(joint, pusher.q0)[:3] == pytest.approx([0, 0, 0.02])
    with pytest.raises(ValueError, match="has the tolerance 0; it must be > 0"):
        pusher.goal_errors(qs.JointGoal("finger.x", 1, tolerance=0), pusher.q0)
    with pytest.raises(ValueError, match="no joint coordinate `thumb`"):
        pusher.goal_errors(qs.JointGoal("thumb", 1), pusher.q0)
    assert qs.load("scenes/planar_push.yml").goals == []
    # what a camera has lost is not at its goal
    with pytest.raises(ValueError, match=r"q: `finger.x` is NaN; it must be a finite number"):
        pusher.goal_errors(joint, np.full(pusher.n_q, np.nan))
    with pytest.raises(ValueError, match="has a number that is not finite"):
        pusher.goal_errors(qs.JointGoal("finger.x", np.nan), pusher.q0)
    with pytest.raises(ValueError, match="no goal was given"):
        pusher.goal_errors([], pusher.q0)
    with pytest.raises(ValueError, match="is no PoseGoal or JointGoal; give one goal"):
        pusher.goal_errors(goals, pusher.q0)


def test_a_roadmap_is_kept_in_a_file_that_knows_its_scene(tmp_path):
    system = qs.load("scenes/planar_pusher.yml", set={"step.relaxation": 1, "step.size": 0.1})
    settings = {"planner": "mppi", "region": 0.02, "rates": 0.5}
    pose = system.pose("box", system.q0)
    ahead = lambda x: qs.PoseGoal("box", pose + [0, 0, 0, 0, x, 0, 0], angle=0.2)
    roadmap = qs.Roadmap(system)
    assert len(roadmap) == 1
    assert system.plan(ahead(0.08), roadmap=roadmap, **settings).solved
    roadmap.save(tmp_path / "box.json")
    again = qs.Roadmap.load(tmp_path / "box.json", qs.load("scenes/planar_pusher.yml", set={"step.relaxation": 1, "step.size": 0.1}))
    assert len(again) == len(roadmap) > 4 and again.h == 0.1
    # the box was there on the way: nothing has to be searched
    known = len(again)
    plan = system.plan(ahead(0.05), roadmap=again, attempts=1, **settings)
    assert plan.solved and len(again) <= known + 1
    run = system.simulate_plan(plan)
    np.testing.assert_allclose(run.q[::10], plan.q, atol=1e-6)
    # in steps of half that size the box is where it was planned, to a tenth of its tolerance
    finer = system.simulate_plan(plan, divisions=20)
    assert abs(system.pose("box", finer.q[-1])[4] - pose[4] - 0.05) < 0.0055
    heavier = system.with_({"models.box.mass": 2})
    with pytest.raises(ValueError, match=r"box.json: this is no roadmap of this system: it is of another scene, 'planar_pusher'"):
        qs.Roadmap.load(tmp_path / "box.json", heavier)
    with pytest.raises(ValueError, match="is of another system"):
        heavier.plan(ahead(0.05), roadmap=roadmap, **settings)
    with pytest.raises(ValueError, match="`roadmap` has its own start"):
        system.plan(ahead(0.05), roadmap=roadmap, h=0.05, **settings)
    spoilt = (tmp_path / "box.json").read_text().replace('"parents": [0, 0', '"parents": [0, -1')
    (tmp_path / "box.json").write_text(spoilt)
    with pytest.raises(ValueError, match="this is no roadmap of this system"):
        qs.Roadmap.load(tmp_path / "box.json", system)
    (tmp_path / "box.json").write_text("{}")
    with pytest.raises(ValueError, match="`quasistep roadmap` is None; 1 is read"):
        qs.Roadmap.load(tmp_path / "box.json", system)
