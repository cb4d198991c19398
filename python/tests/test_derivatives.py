"""Derivatives against differences on the manifold, with their names, shapes and coordinates; batches; bridges."""

import pickle

import numpy as np
import pytest

import quasistep as qs


@pytest.fixture(scope="module")
def pushed(push):
    """Where the finger pushes the box, and a command that goes on."""
    run = push.simulate(duration=2.0)
    return run.q[-1], push.commanded(run.q[-1]) + [0.012, 0.004]


@pytest.fixture(scope="module")
def pusher():
    """Section `Small exact cases`: k = 1 N/m, m = 0.01 kg, half gap 0.2 between balls of radius 0.05."""
    step = {"size": 0.01, "relaxation": "step", "contact_margin": 1}
    scene = qs.SystemBuilder(step=step, friction={"default": 0})
    ball = {"gravity": False, "shape": qs.sphere(0.05)}
    scene.model("robot", joint=[qs.slide("x", [1, 0, 0], stiffness=1)], mass=1, **ball)
    scene.model("object", joint=[qs.slide("x", [1, 0, 0], start=0.2)], mass=0.01, **ball)
    return scene.build()


def differences(system, q, u, dq, du, mode, eps):
    """Central difference of q_next along (dq, du), of fourth order."""
    base = system.derivatives(q, u, mode=mode).q_next

    def at(step):
        moved = system.integrate(q, dq, step)
        return system.difference(base, system.derivatives(moved, u + step * du, mode=mode).q_next)

    return (8 * (at(eps) - at(-eps)) - (at(2 * eps) - at(-2 * eps))) / (12 * eps)


@pytest.mark.parametrize("mode", ["exact", qs.Smooth(1e-4)])
def test_products_are_differences_on_the_manifold(push, pushed, mode):
    q, u = pushed
    d = push.derivatives(q, u, mode=mode)
    rng = np.random.default_rng(0)
    for _ in range(5):
        dq, du = rng.standard_normal(push.n_v), rng.standard_normal(push.n_u)
        # the table holds the box down: a change that lifts or tilts it leaves the smooth neighbourhood
        dq[push.dofs.indices(["box.wx", "box.wy", "box.vz"])] = 0
        got = d.jvp(q=dq, u=du)["q_next"]
        want = differences(push, q, u, dq, du, mode, 1e-5)
        np.testing.assert_allclose(got, want, atol=1e-6 * np.abs(want).max())


def test_pusher_is_its_closed_form(pusher):
    """10.15/101, and smoothed with kappa = 0.01 the positions of the reference, to 1e-9."""
    q, report = pusher.step(pusher.q0, [0.15])
    np.testing.assert_allclose(q, [10.15 / 101, 10.15 / 101 + 0.1], atol=1e-9)
    d = pusher.derivatives(pusher.q0, [0.1], mode=qs.Smooth(0.01))
    np.testing.assert_allclose(d.q_next, [0.000496280979, 0.200995037190], atol=1e-9)
    np.testing.assert_allclose(d.report.contacts["fn"], 0.099503719021, atol=1e-9)
    # by hand: h² K of the robot beside m of the object, which move as one while they touch
    exact = pusher.derivatives(pusher.q0, [0.15]).matrix("q_next", "u")
    np.testing.assert_allclose(exact[:, 0], 1e-4 / (1e-4 + 0.01), atol=1e-12)


def test_smoothing_stays_within_its_bound(push, pushed):
    q, u = pushed
    # what is smoothed is the convex step
    exact = push.derivatives(q, u, params=push.params.replace(friction="convex"))
    assert exact.smoothing_bound == 0
    last = np.inf
    for kappa in (1e-2, 1e-3, 1e-4, 1e-5):
        d = push.derivatives(q, u, mode=qs.Smooth(kappa))
        error = push.difference(exact.q_next, d.q_next)
        assert d.smoothing_bound >= kappa and np.linalg.norm(error) < last
        last = np.linalg.norm(error)


@pytest.mark.parametrize("cone", [2, 4, "round"])
def test_log_barrier_step_is_the_references(cone):
    """Section `Small exact cases`, made with plain numpy: two edges with weight 1/100 each, to 1e-9. A contact in a plane
    has two edges whatever the number asked for, and a round one is the same cone."""
    step = {"size": 0.1, "relaxation": "step", "friction": "convex", "cone": cone}
    scene = qs.SystemBuilder(step=step, friction={"default": 1})
    block = qs.box([2, 1, 2], pose={"xyz": [0, -0.5, 0]})
    ball = qs.sphere(0.1, pose={"xyz": [0, 0.1, 0]})
    scene.model("block", joint=[qs.slide("x", [1, 0, 0])], mass=1, gravity=False, shape=block)
    slides = [qs.slide("y", [0, 1, 0]), qs.slide("x", [1, 0, 0])]
    scene.model("ball", joint=slides, mass=1, gravity=False, shape=ball)
    push = [
        qs.Wrench("block", force=(-4.1669826, 0, 0)),
        qs.Wrench("ball", force=(0, -4.6413128, 0)),
    ]
    edges = "round" if cone == "round" else 2
    d = scene.build().derivatives(mode=qs.Smooth.of_barrier(1 / 100, edges), wrenches=push)
    want = [-0.21737834041, 0.046239703561, -0.19931991959]
    np.testing.assert_allclose(d.report.v, want, atol=1e-9, rtol=0)


def test_kappa_of_a_barrier_counts_its_edges():
    """Two edges with weight 1/100 each are kappa = 0.02, and so is a round cone."""
    assert qs.Smooth.of_barrier(0.01, 2).kappa == qs.Smooth.of_barrier(0.01, "round").kappa == 0.02
    assert qs.Smooth.of_barrier(0.01, 8).kappa == 0.08


def test_a_gradient_is_the_transpose(push, pushed):
    d = push.derivatives(*pushed)
    rng = np.random.default_rng(1)
    inputs = {name: rng.standard_normal(shape) for name, shape in d._input_shapes().items()}
    weights = {name: rng.standard_normal(shape) for name, shape in d._output_shapes().items()}
    for name in ("mu_spin", "mu_roll"):      # no such rows here
        inputs[name][:] = 0
    out, back = d.jvp(**inputs), d.vjp(**weights)
    forward = sum(np.sum(weights[name] * out[name]) for name in weights)
    backward = sum(np.sum(inputs[name] * back[name]) for name in inputs)
    np.testing.assert_allclose(forward, backward, rtol=1e-9)


def test_matrices_have_names_and_their_products(push, pushed):
    d = push.derivatives(*pushed)
    rng = np.random.default_rng(2)
    for of in ("q_next", "v", "normal"):
        for wrt in ("q", "u", "mass", "stiffness", "mu", "h", "wrench", "tau"):
            matrix = d.matrix(of, wrt)
            assert matrix.shape == (len(d.names(of)), len(d.names(wrt)))
            x = rng.standard_normal(matrix.shape[1])
            np.testing.assert_allclose(d.jvp(**{wrt: x})[of], matrix @ x, atol=1e-9 * np.abs(matrix).max() * 10)
    assert d.names("wrench")[-1] == "box/box: force z" and d.names("q")[-1] == "box.vz"


@pytest.mark.parametrize(
    ("wrt", "index", "change"),
    [("mass", "box/box", "models.box.mass"), ("stiffness", "finger.x", "models.finger.joint.0.stiffness")],
)
def test_parameters_are_differences_of_scenes(push, pushed, wrt, index, change):
    q, u = pushed
    d = push.derivatives(q, u)
    column = d.names(wrt).index(index)
    value = {"mass": 0.8, "stiffness": 800.0}[wrt]
    eps = 1e-4 * value
    ends = [push.with_({change: value + s * eps}).derivatives(q, u).q_next for s in (1, -1)]
    want = push.difference(ends[1], ends[0]) / (2 * eps)
    np.testing.assert_allclose(d.matrix("q_next", wrt)[:, column], want, atol=1e-6 * np.abs(want).max() + 1e-12)


def test_coordinates_are_those_of_q(push, pushed):
    """Along a change that keeps quaternions unit both matrices say the same."""
    q, u = pushed
    d = push.derivatives(q, u)
    by_dofs, by_coordinates = d.matrix("q_next", "q"), d.matrix("q_next", "q", coordinates=True)
    G, G_next = push.coordinate_matrix(q), push.coordinate_matrix(d.q_next)
    np.testing.assert_allclose(by_coordinates @ G, G_next @ by_dofs, atol=1e-12)
    np.testing.assert_allclose(by_coordinates @ np.r_[0, 0, q[2:6], 0, 0, 0], 0, atol=1e-12)
    assert d.matrix("q_next", "u", coordinates=True).shape == (push.n_q, push.n_u)


def test_derivatives_travel(push, pushed):
    d = push.derivatives(*pushed, mode=qs.Smooth(1e-3))
    back = pickle.loads(pickle.dumps(d))
    np.testing.assert_array_equal(back.matrix(), d.matrix())
    assert back.mode == d.mode and back.kinks == d.kinks


def test_a_kink_is_flagged(push):
    """The box stands on the table with what carries it at rest: no kink. A finger that just touches: one."""
    touching = push.q_vector({"finger.x": -0.1})
    d = push.derivatives(touching, push.commanded(touching))
    assert d.kinks.any() and d.kinks.rows > 0


def test_what_has_no_derivative_says_why(push):
    with pytest.raises(qs.DerivativeError, match="integration"):
        push.derivatives(params=push.params.replace(integration="midpoint"))
    with pytest.raises(ValueError, match="`v_weights` stand beside `weights`"):
        push.derivatives_batch(push.q0, push.commanded(push.q0), v_weights=np.zeros((1, push.n_v)))
    with pytest.raises(qs.LengthError, match="v"):
        push.derivatives(velocity=[1.0])
    with pytest.raises(ValueError, match="give 'exact'"):
        push.derivatives(mode="smooth")
    d = push.derivatives()
    with pytest.raises(ValueError, match="no 'temperature' among q, velocity, u"):
        d.jvp(temperature=[1])
    with pytest.raises(ValueError, match="`q` has shape"):
        d.jvp(q=[1.0])
    with pytest.raises(qs.LengthError):
        push.derivatives([1.0, 2.0])


@pytest.fixture(scope="module")
def moving(push, pushed):
    """The same with momentum, while the box slides and turns on the table."""
    velocity = np.zeros(push.n_v)
    velocity[push.dofs.indices(["finger.x", "box.wz", "box.vx", "box.vy"])] = [0.2, 0.3, 0.25, 0.05]
    return pushed, {"velocity": velocity, "h": 0.005, "params": push.params.replace(motion="dynamic")}


def test_the_next_state_follows_the_state_and_the_command(push, moving):
    (q, u), options = moving
    d = push.derivatives(q, u, **options)
    rng = np.random.default_rng(5)
    v0 = options["velocity"]
    dq, dv, du = rng.standard_normal(push.n_v), rng.standard_normal(push.n_v), rng.standard_normal(push.n_u)
    flat = push.dofs.indices(["box.wx", "box.wy", "box.vz"])
    dq[flat] = dv[flat] = 0

    def at(s):
        start = {**options, "velocity": v0 + s * dv}
        q_next, report = push.step(push.integrate(q, dq, s), u + s * du, **start)
        return np.r_[push.difference(d.q_next, q_next), report.v]

    got = d.jvp(q=dq, velocity=dv, u=du)
    by = {of: d.matrix(of, "q") @ dq + d.matrix(of, "velocity") @ dv + d.matrix(of, "u") @ du for of in ("q_next", "v")}
    for eps in (1e-5, 1e-6):
        want = (8 * (at(eps) - at(-eps)) - (at(2 * eps) - at(-2 * eps))) / (12 * eps)
        for of, part in (("q_next", want[: push.n_v]), ("v", want[push.n_v :])):
            np.testing.assert_allclose(got[of], part, atol=1e-6 * np.abs(part).max())
            np.testing.assert_allclose(by[of], got[of], atol=1e-9 * np.abs(part).max())


def test_batches_carry_velocities(push, moving):
    (q, u), options = moving
    U = u + 0.002 * np.random.default_rng(6).standard_normal((6, 2))
    out = push.derivatives_batch(q, U, **options, threads=2)
    d = push.derivatives(q, U[4], **options)
    for name, of, wrt in [("by_v", "q_next", "velocity"), ("v_by_q", "v", "q"), ("v_by_v", "v", "velocity"), ("v_by_u", "v", "u")]:
        np.testing.assert_array_equal(getattr(out, name)[4], d.matrix(of, wrt))
    np.testing.assert_array_equal(out.v_next[4], d.report.v)
    W, Wv = np.random.default_rng(7).standard_normal((2, 6, push.n_v))
    out = push.derivatives_batch(q, U, weights=W, v_weights=Wv, **options)
    back = d.vjp(q_next=W[4], v=Wv[4])
    np.testing.assert_array_equal(out.by_v[4], back["velocity"])
    np.testing.assert_array_equal(out.by_u[4], back["u"])
    assert out.v_by_q is None and push.derivatives_batch(q, U).by_v is None


@pytest.fixture(scope="module")
def many(push, pushed):
    rng = np.random.default_rng(3)
    q, u = pushed
    return np.tile(q, (40, 1)), u + 0.005 * rng.standard_normal((40, 2))


@pytest.mark.parametrize("mode", ["exact", qs.Smooth(1e-3)])
def test_batches_have_the_bits_of_single_ones(push, many, mode):
    Q, U = many
    one = push.derivatives_batch(Q, U, mode=mode, threads=1)
    for threads in (2, 5):
        again = push.derivatives_batch(Q, U, mode=mode, threads=threads)
        for a, b in zip(one[:4], again[:4], strict=True):
            np.testing.assert_array_equal(a, b)
    for i in (0, 17, 39):
        d = push.derivatives(Q[i], U[i], mode=mode)
        np.testing.assert_array_equal(one.q_next[i], d.q_next)
        np.testing.assert_array_equal(one.by_q[i], d.matrix("q_next", "q"))
        np.testing.assert_array_equal(one.by_u[i], d.matrix("q_next", "u"))
        assert tuple(one.kinks[i]) == tuple(d.kinks)


def test_gradients_in_batches_are_those_of_single_ones(push, many):
    Q, U = many
    W = np.random.default_rng(4).standard_normal((40, push.n_v))
    out = push.derivatives_batch(Q, U, weights=W)
    for i in (3, 30):
        back = push.derivatives(Q[i], U[i]).vjp(q_next=W[i])
        np.testing.assert_array_equal(out.by_q[i], back["q"])
        np.testing.assert_array_equal(out.by_u[i], back["u"])


def test_a_sample_that_fails_is_marked_alone(push, many):
    Q, U = many[0], many[1].copy()
    U[7, 1] = np.nan
    out = push.derivatives_batch(Q, U)
    assert list(out.errors) == [7] and isinstance(out.errors[7], qs.InputError)
    assert np.isnan(out.by_q[7]).all() and np.isnan(out.q_next[7]).all()
    good = push.derivatives_batch(many[0], many[1])
    rest = np.arange(40) != 7
    np.testing.assert_array_equal(out.by_u[rest], good.by_u[rest])


def test_progress_of_a_batch_ends_at_all(push, many):
    seen = []
    push.derivatives_batch(*many, progress=lambda done, n: seen.append((done, n)))
    assert seen[-1] == (40, 40)


def test_batches_have_wrenches_and_torques_of_their_own(push, many):
    Q, U = many[0][:6], many[1][:6]
    rng = np.random.default_rng(8)
    F, tau = rng.uniform(-1, 1, (6, 3)), np.zeros((6, push.n_v))
    tau[:, push.dofs.indices("finger.*")] = rng.uniform(-2, 2, (6, 2))
    out = push.derivatives_batch(Q, U, wrenches=qs.Wrench("box", force=F), tau=tau, mode=qs.Smooth(1e-3))
    for i in (0, 4):
        own = qs.Wrench("box", force=tuple(F[i]))
        d = push.derivatives(Q[i], U[i], wrenches=[own], tau=tau[i], mode=qs.Smooth(1e-3))
        np.testing.assert_array_equal(out.q_next[i], d.q_next)
        np.testing.assert_array_equal(out.by_q[i], d.matrix("q_next", "q"))
    assert (np.diff(out.q_next, axis=0) != 0).any(axis=1).all()
    assert pickle.loads(pickle.dumps(d)).q_next.tolist() == d.q_next.tolist()


def fingertip(size, h, friction, motion):
    """A fingertip of 0.1 kg on springs of 500 N/m along x and z that just touches the floor, mu = 0.4."""
    step = {"size": h, "motion": motion, "friction": friction, "cone": "round", "contact_margin": size}
    scene = qs.SystemBuilder(step=step)
    scene.model("floor", joint="fixed", friction=0.4, shape=qs.half_space())
    slides = [qs.slide("z", [0, 0, 1], stiffness=500, start=0.1 * size), qs.slide("x", [1, 0, 0], stiffness=500)]
    scene.model("tip", joint=slides, mass=0.1, friction=0.4, gravity=False, shape=qs.sphere(0.1 * size))
    return scene.build()


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("friction", ["exact", "convex"])
@pytest.mark.parametrize("motion", ["quasi_static", "dynamic"])
@pytest.mark.parametrize("h", [0.001, 0.02])
def test_a_finger_pressed_down_presses_by_its_spring(size, friction, motion, h):
    """Told to go 1 mm further down it pushes with 0.5 N more; held by friction 1 mm further along does the same
    sideways; slipping it drags with 0.4 of what it pushes with."""
    system = fingertip(size, h, friction, motion)
    down, along = 0.01 * size, np.array([0.001, 0.009]) * size
    u = system.q0 + [[-down, along[0]], [-down, along[1]]]
    out = system.derivatives_batch(system.q0, u, impulses=True).contacts
    assert out.starts.tolist() == [0, 1, 2] and out.contacts["sample"].tolist() == [0, 1]
    axis = out.axes[:, 1] @ [1, 0, 0]
    np.testing.assert_allclose(np.abs(axis), 1)
    sticks, slides = out.impulse
    np.testing.assert_allclose(sticks[:2], [500 * down * h, -axis[0] * 500 * along[0] * h], rtol=1e-9)
    np.testing.assert_allclose(out.by_u[0, :2], 500 * h * np.array([[-1, 0], [0, -axis[0]]]), rtol=1e-9, atol=1e-12 * h)
    np.testing.assert_allclose(out.cone, [[0.4, 0, 0, 0, 0]] * 2, rtol=1e-15)
    np.testing.assert_allclose(slides[1], -axis[1] * 0.4 * slides[0], rtol=1e-9)
    np.testing.assert_allclose(out.by_u[1, 1], -axis[1] * 0.4 * out.by_u[1, 0], rtol=1e-9)
    np.testing.assert_allclose(out.by_q[1, 1], -axis[1] * 0.4 * out.by_q[1, 0], rtol=1e-9, atol=1e-9 * h)
    if friction == "exact":
        np.testing.assert_allclose(out.by_u[1, 0], [-500 * h, 0], rtol=1e-9, atol=1e-9 * h)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("friction", ["exact", "convex"])
@pytest.mark.parametrize("motion", [{"motion": "quasi_static"}, {"inertia": "mass"}, {"motion": "dynamic"}])
@pytest.mark.parametrize("cone", [4, "round"])
def test_impulses_carry_the_weight(size, friction, motion, cone):
    """A block of 2 kg on a table presses with 19.62 N, and 3 N of a string more: all contacts together, in steps of any
    size. Pulled along with 4 N they drag with as much, from where the friction of 0.5 allows it."""
    for h in (0.001, 0.01, 0.1):
        step = {"size": h, "friction": friction, "cone": cone, "contact_margin": 0.1 * size, **motion}
        scene = qs.SystemBuilder(step=step)
        scene.model("table", joint="fixed", friction=0.5, shape=qs.half_space())
        scene.model("block", mass=2, pose={"xyz": [0, 0, size / 2]}, shape=qs.box([size] * 3))
        system = scene.build()
        loads = qs.Wrench("block", force=[[0, 0, 0], [0, 0, -3], [4, 0, 0]])
        out = system.derivatives_batch(system.q0, [], h=h, wrenches=loads, impulses=True).contacts
        force = np.einsum("kw,kwi->ki", out.impulse[:, :3], out.axes[:, :3]) / h
        total = np.array([force[a:b].sum(axis=0) for a, b in zip(out.starts, out.starts[1:], strict=False)])
        np.testing.assert_allclose(total, [[0, 0, 19.62], [0, 0, 22.62], [-4, 0, 19.62]], atol=1e-6)


@pytest.mark.parametrize("cone", [4, "round"])
@pytest.mark.parametrize("mode", ["exact", qs.Smooth(1e-3)])
def test_impulses_of_batches_are_those_of_single_steps(push, many, mode, cone):
    """Two thirds of the samples touch the finger in other places, one fails."""
    push = push.with_({"step.cone": cone})
    Q, U = many[0].copy(), many[1].copy()
    Q[::3] = push.integrate(Q[::3], 0.002 * np.eye(push.n_v)[push.dofs.index("finger.y")])
    U[7, 1] = np.nan
    one = push.derivatives_batch(Q, U, mode=mode, threads=1, impulses=True)
    plain = push.derivatives_batch(Q, U, mode=mode, threads=1)
    np.testing.assert_array_equal(one.by_q, plain.by_q)
    np.testing.assert_array_equal(one.by_u, plain.by_u)
    assert plain.contacts is None
    for threads in (2, 5):
        again = push.derivatives_batch(Q, U, mode=mode, threads=threads, impulses=True).contacts
        for a, b in zip(one.contacts, again, strict=True):
            np.testing.assert_array_equal(a, b)
    out = one.contacts
    assert out.starts[7] == out.starts[8] and out.starts[-1] == len(out.impulse) == len(out.contacts)
    # how four corners with round cones share the weight is open in exact steps
    unique = (mode, cone) != ("exact", "round")
    for i in (0, 4, 39) if unique else ():
        d = push.derivatives(Q[i], U[i], mode=mode)
        own = slice(out.starts[i], out.starts[i + 1])
        np.testing.assert_array_equal(out.contacts["sample"][own], i)
        for name in ("shape_a", "shape_b", "feature"):
            np.testing.assert_array_equal(out.contacts[name][own], d.report.contacts[name])
        for name in ("fn", "f", "n"):
            np.testing.assert_allclose(out.contacts[name][own], d.report.contacts[name], rtol=0, atol=1e-9)
        for wrt, ours in (("q", out.by_q), ("u", out.by_u)):
            want = d.matrix("components", wrt).reshape(-1, 6, ours.shape[-1])
            np.testing.assert_allclose(ours[own], want, rtol=0, atol=1e-9 * np.abs(want).max())
        force = np.einsum("kw,kwi->ki", out.impulse[own, :3], out.axes[own, :3])
        np.testing.assert_allclose(force, d.report.contacts["f"] * push.h, rtol=0, atol=1e-12)
    # with gradients in place of matrices as well
    weights = np.ones((40, push.n_v))
    again = push.derivatives_batch(Q, U, mode=mode, weights=weights, impulses=True)
    np.testing.assert_array_equal(again.contacts.by_q, out.by_q)
    assert again.by_q.shape == (40, push.n_v)


def test_six_numbers_of_an_impulse_begin_with_the_torque(push, pushed):
    """As those of a wrench: forces of points without torsional friction are the last three."""
    d = push.derivatives(*pushed)
    names = d.names("impulse")
    assert names[0].endswith("angular x") and names[3].endswith("linear x")
    assert d.names("wrench")[0].endswith("torque x") and d.names("wrench")[3].endswith("force x")
    out = d.jvp(u=[1.0, 0.3])
    angular, linear = out["impulse"][:, :3], out["impulse"][:, 3:]
    np.testing.assert_allclose(np.sum(linear * d.report.contacts["n"], axis=1), out["normal"], atol=1e-9)
    assert np.abs(angular).max() == 0 and np.abs(linear).max() > 0.1
