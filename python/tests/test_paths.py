"""Grasps at random, and paths of joints."""

import numpy as np
import pytest

import quasistep as qs

RANGES = {name: (-0.12, 0.12) for name in ("left.x", "left.y", "right.x", "right.y")}


@pytest.fixture(scope="module")
def hand() -> qs.System:
    return qs.load("scenes/planar_hand.yml")


def test_fingers_take_a_box_and_take_it_elsewhere(hand) -> None:
    grasps = hand.grasps(["left", "right"], "box", 4, ranges=RANGES, clearance=0.004, seed=2)
    assert grasps.shape == (4, 7)
    assert np.array_equal(grasps, hand.grasps(("left", "right"), ["box", "box"], 4, ranges=RANGES, clearance=0.004, seed=2))
    for q in grasps:
        at = hand.linearise(q, margin=1e-4)
        touching = {frozenset((hand.shapes[a], hand.shapes[b])) for a, b in zip(at.shape_a, at.shape_b, strict=True)}
        assert touching == {frozenset((f"{tip}/{tip}/0", "box/box/0")) for tip in ("left", "right")}
        assert np.array_equal(q[4:], hand.q0[4:]) and (at.phi > -1e-8).all()
    seen = []
    for start, goal in zip(grasps, grasps[1:], strict=False):
        path = hand.joint_path(start, goal, margin=0.003, rates=0.5, progress=lambda done, most: seen.append(most))
        assert path.holds and path.failed is None and path.left is None and path.off < 1e-3
        assert np.array_equal(path.corners[[0, -1]], [start, goal])
        assert len(path.q) == len(path.u) + 1
        # a finger that leaves the box takes it along by less than 0.1 mm
        assert all(distance < 1e-4 for distance, _ in path.moved.values())
        u = np.vstack([hand.commanded(start), path.u])
        assert np.abs(np.diff(u, axis=0)).max() <= 0.5 * path.h * (1 + 1e-9)
        np.testing.assert_allclose(path.q[-1], goal, atol=1e-4)
        again = hand.joint_path(start, goal, margin=0.003, rates=0.5)
        assert np.array_equal(again.u, path.u) and np.array_equal(again.q, path.q)
    assert set(seen) <= {2000}


def test_what_falls_is_told() -> None:
    pinch = qs.load("scenes/pinch.yml")
    goal = np.concatenate([[-0.05, 0.05], pinch.q0[2:]])
    path = pinch.joint_path(pinch.q0, goal, margin=0.005, rates=0.05, u0=[-0.028, 0.028])
    assert path.holds and list(path.moved) == ["held/held"]
    assert path.moved["held/held"][0] > 0.05


def test_mistakes_are_told_by_name(hand) -> None:
    for arguments, options, why in [
        (("left", "left"), {"ranges": RANGES}, "`left/left` and `left/left` never touch"),
        (("left", "box"), {}, "`left.x` is drawn from -inf to inf; give a lower and an upper number"),
        (("left", "box"), {"ranges": {"left.z": (0, 1)}}, "no joint coordinate `left.z`"),
        (("left", "box"), {"ranges": {"right.x": (0, 1)}}, "none of the joints that move brings `left/left` to `box/box`"),
        (("left", "box"), {"ranges": RANGES, "distance": 0}, "distance is 0; it must be > 0 m"),
        ((["left"] * 3, ["box"] * 2), {"ranges": RANGES}, "3 links and 2 bodies"),
        (([], "box"), {"ranges": RANGES}, "no pair of bodies is to touch"),
        (("left", "box", 0), {"ranges": RANGES}, "count is 0"),
    ]:
        with pytest.raises(ValueError, match=why):
            hand.grasps(*arguments, **options)
    with pytest.raises(qs.QuasistepError, match="lft"):
        hand.grasps("lft", "box", ranges=RANGES)
    start = hand.q0
    moved, inside = start.copy(), start.copy()
    moved[4] += 0.01
    inside[0] += 0.05
    for goal, options, why in [
        (moved, {}, "`box.x` is 0 at the start and 0.01 at the goal"),
        (inside, {}, "`left/left` and `box/box` overlap by 0.0"),
        (start, {"margin": -1}, "margin is -1; it must be > 0 m"),
        (start, {"lower": 0}, "`left.x` is -0.075 at the start, outside of 0 to inf"),
        (start[:3], {}, r"`q_goal` has shape \(3,\)"),
    ]:
        with pytest.raises(ValueError, match=why):
            hand.joint_path(start, goal, **{"margin": 0.003, **options})
    # behind the box, and no way around it within these bounds
    behind = start + [0.15, 0, 0.05, 0, 0, 0, 0]
    with pytest.raises(qs.NoPlanError, match="no path was found with 50 random configurations"):
        hand.joint_path(start, behind, margin=0.003, lower=[-0.2, -0.02, 0, -0.02], upper=[0.2, 0.02, 0.3, 0.02], samples=50)


def test_the_search_is_interrupted(hand) -> None:
    def stop(done: int, most: int) -> None:
        raise KeyboardInterrupt

    behind = hand.q0 + [0.15, 0, 0.05, 0, 0, 0, 0]
    with pytest.raises(KeyboardInterrupt):
        hand.joint_path(
            hand.q0, behind, margin=0.003, lower=[-0.2, -0.02, 0, -0.02], upper=[0.2, 0.02, 0.3, 0.02],
            samples=10**6, progress=stop,
        )  # fmt: skip
