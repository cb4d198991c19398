"""Environments: what a person would see, gymnasium's own checks, the same bits single and vectorised."""

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest

import quasistep as qs

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

AHEAD = qs.PoseGoal("box", (1, 0, 0, 0, 0.1, 0, 0), counts=(False, False, False, True, True, False))
STRAIGHT = {"start": {"finger.x": -0.12, "finger.y": 0.0}}
# half of the box, and the radius of the finger
TOUCH = 0.06 + 0.015
LAWS = [
    {"step.friction": friction, **motion}
    for friction in ("exact", "convex")
    for motion in ({}, {"step.inertia": "mass"}, {"step.motion": "dynamic"})
]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("substeps", [1, 4, 20])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_straight_push_moves_the_box_by_the_travel_of_the_finger(law, substeps, size):
    """The finger stands 45 mm before the box, goes 20 cm ahead, and pushes the box before it."""
    lengths = {
        "models.finger.joint.0.start": -0.12 * size, "models.finger.joint.1.start": 0.0,
        "models.finger.shape.sphere.radius": 0.015 * size,
        "models.box.shape.box.size": [0.12 * size, 0.12 * size, 0.04 * size],
        "models.box.support.spin_radius": 0.046 * size, "step.contact_margin": 0.05 * size,
        "gravity": [0, 0, -9.81 * size],
    }  # fmt: skip
    goal = qs.PoseGoal("box", (1, 0, 0, 0, size, 0, 0), distance=0.005 * size, counts=AHEAD.counts)
    far = {"finger.x": (-size, size), "finger.y": (-size, size)}
    # 5 cm in a second: slow, so that the drag is small
    env = qs.gym.Env(
        "push_to_pose", goal=goal, substeps=substeps, actions=0.05 * size, bounds=far,
        set={**lengths, **law, "step.size": 1.0 / substeps},
    )  # fmt: skip
    env.reset(seed=0)
    rewards = [env.step([1.0, 0.0])[1] for _ in range(4)]
    finger, box = env.q[env.system.coordinates.indices(["finger.x", "box.x"])] / size
    assert env.u[0] == pytest.approx(0.08 * size)
    assert box == pytest.approx(finger + TOUCH, abs=1e-6)
    # the spring holds 0.3 × 0.5 kg × 9.81 m/s² of dry friction, and the drag or momentum of 0.5 kg
    slow = 0.5 * 0.05
    assert 400 * (0.08 - finger) == pytest.approx(0.3 * 0.5 * 9.81, abs=1e-3 + 2 * slow)
    assert rewards[1:] == pytest.approx([0.05] * 3, abs=0.01) and rewards[0] < rewards[1]
    assert sum(rewards) == pytest.approx(box, abs=1e-9)


def test_sides_of_the_box_matter():
    """A push off the centre turns the box, to the right if it is on the left; in the air nothing moves."""
    turns = []
    for y in (-0.04, 0.04, 0.2):
        env = qs.gym.Env("push_to_pose", goal=AHEAD)
        env.reset(options={"start": {"finger.y": y}})
        for _ in range(4):
            env.step([1.0, 0.0])
        turns.append(env.q[env.system.coordinates.index("box.theta")])
    assert turns[0] == pytest.approx(-turns[1]) and turns[0] > 0.1 and turns[2] == 0.0


def test_the_goal_ends_an_episode_and_holds():
    """Pushed to 10 cm: terminated at 5 mm, in the step that the measured place says; with hold, so many steps later."""
    for hold in (1, 3):
        env = qs.gym.Env("push_to_pose", goal=AHEAD, hold=hold, actions=0.01)
        env.reset(options={"start": {"finger.x": -0.08, "finger.y": 0.0}})
        places = []
        terminated = truncated = False
        while not (terminated or truncated):
            _, reward, terminated, truncated, info = env.step([1.0 if not places or places[-1] < 0.097 else 0.0, 0.0])
            places.append(env.q[2])
        near = np.abs(np.array(places) - 0.1) <= 0.005
        assert terminated and near[-hold:].all() and not near[: -hold].any()
        assert reward > 0.9 and info["is_success"] and info["goal_error"] <= 1
    env = qs.gym.Env("push_to_pose", goal=AHEAD, max_steps=7)
    env.reset()
    ends = [env.step([0.0, 0.0])[2:4] for _ in range(7)]
    assert ends == [(False, False)] * 6 + [(False, True)]


CRUSH = """
models:
  wall: {joint: fixed, pose: {xyz: [0.2, 0, 0]}, shape: {box: {size: [0.1, 1, 1]}}}
  box: {joint: [{slide: x, axis: [1, 0, 0]}], mass: 1, shape: {box: {size: [0.1, 0.1, 0.1]}}}
  ram: {joint: [{slide: x, axis: [1, 0, 0], start: -0.2, role: prescribed}], shape: {box: {size: [0.1, 0.1, 0.1]}}}
step: {size: 0.1, fallback: none}
gravity: [0, 0, 0]
"""


def test_a_step_that_fails_truncates_and_passes_nothing_on():
    """A ram that gives way to nothing presses a box against a wall: there is no such motion."""
    system = qs.loads(CRUSH)
    kinds = {"goal": qs.JointGoal("box.x", 0.5), "actions": 0.05}
    env = qs.gym.Env(system, **kinds)
    envs = qs.gym.VectorEnv(system, 3, **kinds, autoreset_mode="SameStep")
    env.reset()
    envs.reset(seed=0)
    for _ in range(20):
        before = env.q
        observation, reward, terminated, truncated, info = env.step([1.0])
        _, rewards, _, ends, infos = envs.step(np.ones((3, 1)) * [[1.0], [0.0], [1.0]])
        assert np.isfinite(observation).all() and np.isfinite([reward, *rewards]).all()
        assert list(ends) == [truncated, False, truncated] and not terminated
        if truncated:
            break
    assert truncated and info["failure"] and reward == 0.0
    np.testing.assert_array_equal(env.q, before)
    assert env.q[0] == pytest.approx(0.1, abs=0.05)
    assert list(infos["final_info"]["failure"]) == [info["failure"], None, info["failure"]]
    np.testing.assert_array_equal(infos["final_obs"][0], observation)
    # it goes on after a reset
    assert not envs.step(np.zeros((3, 1)))[3].any()
    env.reset()
    assert not env.step([0.0])[3]


@pytest.mark.parametrize("name", [*qs.gym.TASKS])
def test_gymnasium_finds_no_fault(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(name, render_mode="rgb_array", size=(64, 48))
        check_env(env.unwrapped)
        envs = gymnasium.make_vec(name, num_envs=2)
        envs.reset(seed=0)
        for _ in range(3):
            envs.step(envs.action_space.sample())


VARIED = {"start": {"box.y": (-0.03, 0.03), "finger.y": (-0.05, 0.05)}, "goal_range": {"x": (-0.05, 0.05)}}
MASSES = {"models.box.mass": (0.2, 1.0), "friction.default": (0.1, 0.6)}


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("kinds", [{}, {"vary": MASSES, "observe": ("q", "u", "v", "effort", "force"), "forces": [("finger", "box")],
                                        "substeps": 3, "goal_observation": True, "reward": "sparse"}], ids=["plain", "all"])  # fmt: skip
def test_vectors_have_the_bits_of_single_environments(mode, kinds):
    """Gymnasium's own vector of single environments gives the same, for any number of threads."""
    kinds = {**VARIED, **kinds, "max_steps": 9, "goal": AHEAD}
    n = 7
    single = SyncVectorEnv([lambda: qs.gym.Env("push_to_pose", **kinds)] * n, autoreset_mode=mode)
    vectors = [qs.gym.VectorEnv("push_to_pose", n, threads=t, autoreset_mode=mode, **kinds) for t in (1, 2, 5)]
    assert vectors[0].observation_space == single.observation_space and vectors[0].action_space == single.action_space
    rng = np.random.default_rng(0)
    results = [envs.reset(seed=5) for envs in [single, *vectors]]
    for k in range(25):
        for other in results[1:]:
            same(results[0], other)
        if k == 15:
            results = [envs.reset() for envs in [single, *vectors]]
            continue
        actions = rng.uniform(-1, 1, (n, 2)).astype(np.float32) + [0.5, 0]
        results = [envs.step(actions) for envs in [single, *vectors]]
    assert all(envs.observation_space.contains(results[0][0]) for envs in vectors)


def same(a, b):
    """Whether results of environments are equal to the bit."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, tuple) or (isinstance(a, np.ndarray) and a.dtype == object):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        np.testing.assert_array_equal(a, b)


FAR_GOALS = {
    "push_to_pose": AHEAD,
    "ball_in_hand": qs.PoseGoal("ball", (1, 0, 0, 0, 0, 0, 1)),
    "door": qs.JointGoal("door.hinge", -1.5),
}


@pytest.mark.parametrize("scene", FAR_GOALS)
def test_environments_take_the_steps_of_runs(scene):
    """An environment reaches the configurations of ``simulate`` with its commands, to the bit."""
    system = qs.load(f"scenes/{scene}.yml")
    env = qs.gym.Env(scene, goal=FAR_GOALS[scene], actions=0.02)
    env.reset(seed=0)
    env.action_space.seed(0)
    rows = []
    for _ in range(20):
        env.step(env.action_space.sample())
        rows.append((env.u, env.q))
    U, Q = map(np.array, zip(*rows, strict=True))
    np.testing.assert_array_equal(system.simulate(U).q[1:], Q)


def test_a_seed_decides_everything_and_others_differ():
    kinds = {**VARIED, "vary": MASSES, "goal": AHEAD}
    runs = []
    for seed in (3, 3, 4):
        env = qs.gym.Env("push_to_pose", **kinds)
        seen = [env.reset(seed=seed)[0]]
        seen += [env.step([1.0, 0.1])[0] for _ in range(5)]
        runs.append(np.array([*seen, env.reset()[0]]))
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0][0] != runs[2][0]).any() and (runs[0][0] != runs[0][-1]).any()


def test_heavy_boxes_press_harder():
    """Domain randomisation reaches the world: the push is friction times the weight that was drawn."""
    mass = (0.2, 1.0)
    envs = qs.gym.VectorEnv("push_to_pose", 50, goal=AHEAD, vary={"models.box.mass": mass}, observe=["effort", "force"],
                            forces=[("finger", "box")], actions=0.005, substeps=5)  # fmt: skip
    envs.reset(seed=0, options={"start": {"finger.x": -0.08, "finger.y": 0.0}})
    for _ in range(5):
        observations = envs.step(np.tile([1.0, 0.0], (50, 1)))[0]
    effort, push = observations[:, 0], observations[:, 2]
    np.testing.assert_allclose(effort, push, rtol=1e-6)
    masses = push / (0.3 * 9.81)
    assert masses.min() >= mass[0] and masses.max() <= 1.05 * mass[1] and np.std(masses) == pytest.approx(0.8 / math.sqrt(12), rel=0.2)


def test_starts_do_not_overlap_and_cover_their_ranges():
    envs = qs.gym.VectorEnv("push_to_pose", 300, goal=AHEAD, start={"finger.x": (-0.15, 0.15), "finger.y": (-0.15, 0.15)})
    envs.reset(seed=0)
    outside = np.maximum(np.abs(envs.q[:, :2]) - 0.06, 0)
    distances = np.hypot(*outside.T) - 0.015
    assert distances.min() >= -2e-6 and 0.13 < np.abs(envs.q[:, 0]).max() <= 0.15
    inside = qs.gym.Env("push_to_pose", goal=AHEAD, start={"finger.x": 0.0, "finger.y": 0.0})
    with pytest.raises(ValueError, match="100 starts that were drawn overlap, the last one by 0.035 m"):
        inside.reset()


def test_goals_turn_and_shift():
    env = qs.gym.Env("push_to_pose", goal=qs.PoseGoal("box", (1, 0, 0, 0, 0, 0, 0)), goal_range={"rz": (0.5, 0.6), "x": (0.1, 0.1)},
                     observe=["error"])  # fmt: skip
    errors = np.array([env.reset(seed=k)[0] for k in range(20)])
    np.testing.assert_allclose(errors[:, [0, 1, 3, 4, 5]], np.tile([0, 0, -0.1, 0, 0], (20, 1)), atol=1e-12)
    assert (-0.6 <= errors[:, 2]).all() and (errors[:, 2] <= -0.5).all() and np.ptp(errors[:, 2]) > 0.05
    assert env.reset(options={"goal": AHEAD})[1]["goal_error"] > 1


def test_errors_are_those_of_plans():
    """The judge of plans measures the same shares of tolerances."""
    system = qs.load("scenes/push_to_pose.yml")
    goals = [[qs.PoseGoal("box", (math.cos(1.4), 0, 0, math.sin(1.4), 0.1, 0.05, 0)), qs.JointGoal("box.theta", 2.0, 0.3)]]
    plan = system.plan(goals, planner="mppi", steps=3, attempts=1, region=0.02, rates=0.5)
    env = qs.gym.Env(system, goal=goals[0])
    shares = [env.reset(options={"start": q})[1]["goal_error"] for q in plan.q]
    np.testing.assert_allclose(shares, plan.errors[:, 3], rtol=1e-9)


def test_hindsight_gives_the_rewards_of_other_goals():
    env = qs.gym.Env("push_to_pose", goal=AHEAD, goal_observation=True, reward="sparse")
    observation, _ = env.reset(seed=0)
    observation, reward, *_ = env.step([1.0, 0.0])
    assert reward == env.compute_reward(observation["achieved_goal"], observation["desired_goal"], {}) == -1
    rows = np.tile(observation["achieved_goal"], (4, 1))
    np.testing.assert_array_equal(env.compute_reward(rows, rows, [{}] * 4), np.zeros(4))


def test_pictures_show_the_box_move():
    env = qs.gym.Env("push_to_pose", goal=AHEAD, render_mode="rgb_array", size=(120, 90))
    env.reset()
    first = env.render()
    for _ in range(4):
        env.step([1.0, 0.0])
    second = env.render()
    assert first.shape == (90, 120, 3) and first.dtype == np.uint8
    changed = (np.abs(first.astype(int) - second).sum(axis=-1) > 60).mean()
    assert 0.01 < changed < 0.5
    assert qs.gym.Env("push_to_pose").render() is None


def test_mistakes_say_what_would_be_right():
    def mistake(match, *arguments, **kinds):
        with pytest.raises((ValueError, KeyError, qs.QuasistepError), match=match):
            qs.gym.Env(*(arguments or ("push_to_pose",)), **kinds)

    mistake("reward is 'shaped'; give one of 'dense', 'sparse'", reward="shaped")
    mistake("observe has 'x'; give some of", observe=["x"])
    mistake("observe has 'error', which is not that of other goals", observe=["error"], goal_observation=True)
    mistake("goal_range has 'w'; give rx, ry, rz, x, y, z", goal_range={"w": (0, 1)})
    mistake(r"start\['box.x'\] is \(1, 0\); give \(low, high\)", start={"box.x": (1, 0)})
    mistake("no name `box.w`", start={"box.w": 0})
    mistake("max_steps is 0; it must be", max_steps=0)
    mistake("no `plan` section with a goal; give goal=", "door")
    mistake("give actions=", "door", goal=qs.JointGoal("door.hinge", 1.0))
    mistake("models.bxo", vary={"models.bxo.mass": (1, 2)})
    mistake("has the tolerance 0", goal=qs.JointGoal("box.theta", 1.0, 0.0))
    mistake("environments take steps of one size", "door", set={"step.tolerance": 1e-4}, goal=qs.JointGoal("door.hinge", 1.0))
    env = qs.gym.Env("push_to_pose")
    env.reset()
    with pytest.raises(ValueError, match="`action` has shape"):
        env.step([1.0])
    with pytest.raises(ValueError, match="not a finite number"):
        env.step([math.nan, 0.0])
    with pytest.raises(ValueError, match="options has 'gaol'"):
        env.reset(options={"gaol": 1})


def test_import_stays_light():
    code = "import sys, quasistep; assert 'gymnasium' not in sys.modules; quasistep.gym; assert 'gymnasium' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_episodes_become_a_lerobot_dataset(tmp_path):
    """The package reads back what was recorded. Runs where lerobot is installed."""
    env = qs.gym.Recorder(qs.gym.Env("push_to_pose", goal=AHEAD, max_steps=6, render_mode="rgb_array", size=(64, 48)), pictures=True)
    env.reset(seed=0)
    with pytest.raises((ValueError, ImportError), match="no episode has ended|pip install"):
        env.write_lerobot(tmp_path / "none", "me/none")
    for _ in range(2):
        while not any(env.step([1.0, 0.0])[2:4]):
            pass
        env.reset()
    assert [len(e.actions) for e in env.episodes] == [6, 6] and env.episodes[0].observations.shape == (7, 9)
    datasets = pytest.importorskip("lerobot.datasets.lerobot_dataset")
    folder = env.write_lerobot(tmp_path / "pushes", "me/pushes")
    read = datasets.LeRobotDataset("me/pushes", root=folder)
    assert read.num_episodes == 2 and read.num_frames == 12 and read.fps == 10
    info = read.meta.info
    assert str(info["codebase_version"] if isinstance(info, dict) else info.codebase_version).startswith("v3")
    states = np.array([read[k]["observation.state"].numpy() for k in range(6)])
    np.testing.assert_array_equal(states, env.episodes[0].observations[:-1].astype(np.float32))
    assert tuple(read[0]["observation.images.camera"].shape) == (3, 48, 64)
