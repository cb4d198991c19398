"""Batches: the same bits however they are split, failures marked, memory as promised."""

import threading

import numpy as np
import pytest

import quasistep as qs


@pytest.fixture(scope="module")
def samples(push):
    """60 short pushes from different places."""
    rng = np.random.default_rng(1)
    starts = np.array([push.q_vector({"finger.y": y}) for y in rng.uniform(-0.04, 0.04, 60)])
    U = push.commanded(starts)[:, None, :] + 0.01 * rng.standard_normal((60, 6, 2)).cumsum(axis=1)
    return starts, U


def test_batch_has_the_bits_of_single_steps(push, samples):
    Q, U = samples[0], samples[1][:, 0]
    together = push.step_batch(Q, U, h=0.05)
    alone = np.array([push.step(q, u, h=0.05)[0] for q, u in zip(Q, U, strict=True)])
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads_gives_the_same_bits(push, samples, threads):
    Q, U = samples
    reference = push.simulate_batch(U, q0=Q, h=0.05, threads=4)
    again = push.simulate_batch(U, q0=Q, h=0.05, threads=threads)
    np.testing.assert_array_equal(again, reference)


def test_any_split_gives_the_same_bits(push, samples):
    Q, U = samples
    whole = push.simulate_batch(U, q0=Q, h=0.05)
    parts = [push.simulate_batch(U[i:j], q0=Q[i:j], h=0.05) for i, j in [(0, 1), (1, 40), (40, 60)]]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    one = push.simulate(U[7], q0=Q[7], h=0.05)
    np.testing.assert_array_equal(one.q[1:], whole[7])


def test_last_rows_are_kept_alone(push, samples):
    Q, U = samples
    all_rows = push.simulate_batch(U, q0=Q, h=0.05)
    np.testing.assert_array_equal(push.simulate_batch(U, q0=Q, h=0.05, keep="last"), all_rows[:, -1])


def test_one_row_stands_for_all(push, samples):
    U = samples[1]
    same = np.broadcast_to(push.q0, (60, push.n_q))
    np.testing.assert_array_equal(push.simulate_batch(U), push.simulate_batch(U, q0=same))
    Q = samples[0]
    np.testing.assert_array_equal(
        push.simulate_batch(U[0], q0=Q), push.simulate_batch(np.tile(U[0], (60, 1, 1)), q0=Q)
    )


def test_a_failing_sample_is_marked_and_harms_no_other(push, samples):
    Q, U = samples
    bad = U.copy()
    bad[3, 2] = np.nan
    bad[50, 0] = np.inf
    rows, report = push.simulate_batch(bad, q0=Q, h=0.05, report=True)
    assert sorted(report.errors) == [3, 50] and not report.ok[[3, 50]].any() and report.ok.sum() == 58
    assert isinstance(report.errors[3], qs.InputError)
    assert list(report.n_steps[[3, 50, 0]]) == [2, 0, 6]
    good = push.simulate_batch(U, q0=Q, h=0.05)
    np.testing.assert_array_equal(rows[report.ok], good[report.ok])
    np.testing.assert_array_equal(rows[3, :2], good[3, :2])
    assert np.isnan(rows[3, 2:]).all() and np.isnan(rows[50]).all()
    last = push.simulate_batch(bad, q0=Q, h=0.05, keep="last", report=True)[0]
    assert np.isnan(last[3]).all()
    with pytest.warns(qs.BatchWarning, match="2 of 60 samples"):
        push.simulate_batch(bad, q0=Q, h=0.05)


def test_report_is_that_of_single_steps(push, samples):
    Q, U = samples[0], samples[1][:, 0]
    _, report = push.step_batch(Q, U, report=True)
    alone = push.step(Q[5], U[5])[1]
    np.testing.assert_array_equal(report.effort[5], alone.effort)
    np.testing.assert_array_equal(report.v[5], alone.v)
    own = report.contacts[report.contacts["sample"] == 5]
    np.testing.assert_array_equal(own["f"], alone.contacts["f"])
    assert report.warm_starts[5] == alone.warm_start
    assert report.certificates.shape == (60, 8) and (report.certificates[:, 0] < 1e-6).all()


def test_warm_starts_are_each_sample_s_own(push, samples):
    Q, U = samples
    Q1, first = push.step_batch(Q, U[:, 0], report=True)
    warm = push.step_batch(Q1, U[:, 1], warm=first.warm_starts)
    alone = push.step(Q1[9], U[9, 1], warm=first.warm_starts[9])[0]
    np.testing.assert_array_equal(warm[9], alone)


def test_progress_ends_at_all_and_may_stop(push, samples):
    Q, U = samples
    seen = []
    push.simulate_batch(U, q0=Q, progress=lambda done, n: seen.append((done, n)))
    assert seen[-1] == (60, 60)

    def stop(done, n):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        push.simulate_batch(np.tile(U, (100, 1, 1)), q0=np.tile(Q, (100, 1)), progress=stop)


def test_other_python_threads_run_meanwhile(push, samples):
    Q, U = np.tile(samples[0], (50, 1)), np.tile(samples[1], (50, 1, 1))
    started, done = threading.Event(), threading.Event()

    def batch():
        started.set()
        push.simulate_batch(U, q0=Q, threads=1)
        done.set()

    worker = threading.Thread(target=batch)
    worker.start()
    started.wait()
    counted = 0
    while not done.is_set():
        counted += 1
    worker.join()
    # with the GIL held this thread would hardly get a turn
    assert counted > 1000


def test_an_empty_batch_is_empty(push):
    assert push.step_batch(np.zeros((0, push.n_q)), np.zeros((0, 2))).shape == (0, push.n_q)


def test_wrenches_of_the_scene_act_in_a_batch():
    door = qs.load("scenes/door.yml")
    U = np.array([door.command((k + 1) * door.h)[0] for k in range(20)])
    rows = door.simulate_batch(U[None])
    np.testing.assert_array_equal(rows[0], door.simulate(U).q[1:])


def test_samples_may_have_scenes_of_their_own(push, samples):
    Q, U = samples[0][:12], samples[1][:12]
    masses, mus = np.geomspace(0.2, 2, 12), np.linspace(0.1, 0.6, 12)
    vary = {"models.box.mass": masses, "models.*.friction": mus}
    rows, report = push.simulate_batch(U, q0=Q, h=0.05, vary=vary, report=True)
    assert report.ok.all()
    for i in (0, 7, 11):
        own = push.with_({"models.box.mass": masses[i], "models.*.friction": mus[i]})
        np.testing.assert_array_equal(rows[i], own.simulate(U[i], q0=Q[i], h=0.05).q[1:])
    again = push.simulate_batch(U, q0=Q, h=0.05, vary=vary, threads=1)
    np.testing.assert_array_equal(again, rows)


def test_step_parameters_may_differ(push):
    sizes = np.array([0.01, 0.02, 0.05])
    u = push.commanded(push.q0) + [0.02, 0.0]
    rows = push.step_batch(push.q0, u, vary={"step.size": sizes})
    for row, h in zip(rows, sizes, strict=True):
        np.testing.assert_array_equal(row, push.step(push.q0, u, h=h)[0])


def test_a_sample_whose_scene_is_not_valid_is_marked_alone(push):
    u = push.commanded(push.q0) + [0.02, 0.0]
    rows, report = push.step_batch(push.q0, u, vary={"models.box.mass": [0.5, -1.0, 2.0]}, report=True)
    assert list(report.ok) == [True, False, True] and np.isnan(rows[1]).all()
    assert isinstance(report.errors[1], qs.SceneError) and "mass" in report.errors[1].key + str(report.errors[1])
    other = push.step_batch(push.q0, u, vary={"models.box.joint": ["free", "planar"]}, report=True)[1]
    assert "batch has 9" in str(other.errors[1])


@pytest.mark.parametrize("key", ["commands.0.knots", "commands.0.values", "commands"])
def test_commands_do_not_vary_where_a_table_commands(push, key):
    u = push.commanded(push.q0)
    told = rf"key `{key}` was given, and so is `U`.* shape \(N, ...\).*`commands.0.torque`"
    for call in (lambda vary: push.simulate_batch([u], vary=vary), lambda vary: push.step_batch(push.q0, u, vary=vary)):
        with pytest.raises(ValueError, match=told):
            call({key: [1.0, 2.0]})


def test_vary_wants_one_value_a_sample(push):
    with pytest.raises(ValueError, match="same number of values"):
        push.step_batch(push.q0, push.commanded(push.q0), vary={"models.box.mass": [1, 2], "step.size": [0.1]})
    with pytest.raises(ValueError, match="`Q` has shape"):
        push.step_batch(
            np.tile(push.q0, (3, 1)), push.commanded(push.q0), vary={"models.box.mass": [1, 2]}
        )


def test_exact_friction_is_warm_in_batches(push, samples):
    Q, U = samples
    params = push.params.replace(friction="exact")
    Q1, first = push.step_batch(Q, U[:, 0], params=params, report=True)
    assert all(len(w) > 0 for w in first.warm_starts)
    warm = push.step_batch(Q1, U[:, 1], params=params, warm=first.warm_starts)
    alone = push.step(Q1[9], U[9, 1], params=params, warm=first.warm_starts[9])[0]
    np.testing.assert_array_equal(warm[9], alone)


def test_wrenches_and_torques_of_samples_are_those_of_runs(push, samples):
    """Samples pulled by forces of their own, and driven by torques of their own, have the bits of runs with these."""
    Q, U = samples[0][:8], samples[1][:8]
    rng = np.random.default_rng(5)
    F, at = rng.uniform(-1, 1, (8, 6, 3)), rng.uniform(-0.01, 0.01, (8, 6, 3))
    tau = np.zeros((8, 6, push.n_v))
    tau[..., push.dofs.indices("finger.*")] = rng.uniform(-2, 2, (8, 6, 2))
    load = qs.Wrench("box", force=F, torque=(0, 0, 0.01), at=at)
    still = qs.Wrench("box", force=(0, 0, -0.5))

    def alone(i, k, q, t):
        own = qs.Wrench("box", force=tuple(F[i, k]), torque=(0, 0, 0.01), at=tuple(at[i, k]))
        return push.step(q, U[i, k], h=0.05, t=t, wrenches=[own, still], tau=tau[i, k])[0]

    together = push.simulate_batch(U, q0=Q, h=0.05, wrenches=[load, still], tau=tau)
    for i in (0, 5):
        q = Q[i]
        for k in range(6):
            q = alone(i, k, q, 0.05 * k)
            np.testing.assert_allclose(together[i, k], q, rtol=0, atol=1e-9)
    one_step = qs.Wrench("box", force=F[:, 0], torque=(0, 0, 0.01), at=at[:, 0])
    first = push.step_batch(Q, U[:, 0], h=0.05, wrenches=[one_step, still], tau=tau[:, 0])
    np.testing.assert_array_equal(first, [alone(i, 0, Q[i], 0.0) for i in range(8)])
    # one table for all samples; any split; samples that vary
    table = qs.Wrench("box", force=F[2])
    same = push.simulate_batch(U, q0=Q, h=0.05, wrenches=table, tau=tau[2])
    each = qs.Wrench("box", force=np.tile(F[2], (8, 1, 1)))
    np.testing.assert_array_equal(push.simulate_batch(U, q0=Q, h=0.05, wrenches=each, tau=np.tile(tau[2], (8, 1, 1))), same)
    part = qs.Wrench("box", force=F[3:5], torque=(0, 0, 0.01), at=at[3:5])
    split = push.simulate_batch(U[3:5], q0=Q[3:5], h=0.05, wrenches=[part, still], tau=tau[3:5])
    np.testing.assert_array_equal(split, together[3:5])
    masses = {"models.box.mass": np.full(8, 0.8)}
    varied = push.simulate_batch(U, q0=Q, h=0.05, wrenches=[load, still], tau=tau, vary=masses)
    np.testing.assert_array_equal(varied, together)
    # the number of samples may be that of the wrenches alone
    assert push.step_batch(push.q0, U[0, 0], wrenches=one_step).shape == (8, push.n_q)
    assert push.simulate_batch(U[0], tau=tau, keep="last").shape == (8, push.n_q)


@pytest.mark.parametrize("size", [1e-4, 0.1, 100.0])
@pytest.mark.parametrize("friction", ["exact", "convex"])
@pytest.mark.parametrize("h", [0.002, 0.01])
def test_blocks_slide_from_the_force_of_friction_on(size, friction, h):
    """A block of 2 kg on a table, mu = 0.5, pulled by eight weights on a string: it stays below 9.81 N, and what pulls
    harder speeds it up by (F − 9.81 N)/2 kg."""
    step = {"size": h, "motion": "dynamic", "friction": friction, "cone": "round", "contact_margin": size}
    scene = qs.SystemBuilder(step=step)
    scene.model("table", joint="fixed", friction=0.5, shape=qs.half_space())
    scene.model("block", mass=2, pose={"xyz": [0, 0, size / 2]}, shape=qs.box([size] * 3))
    system = scene.build()
    pulls, n = np.array([0.0, 2.0, 5.0, 9.7, 9.9, 12.0, 20.0, -30.0]), 5
    F = np.zeros((8, 3))
    F[:, 0] = pulls
    string = qs.Wrench("block", force=np.repeat(F[:, None], n, axis=1))
    _, report = system.simulate_batch(np.zeros((n, 0)), wrenches=string, report=True)
    x, moves = system.dofs.index("block.vx"), np.abs(pulls) > 9.81
    assert np.abs(report.v[~moves, x]).max() < 1e-9 and (report.v[moves, x] * pulls[moves] > 0).all()
    if friction == "exact":      # the boundary layer of convex friction takes speed of the first steps
        want = np.sign(pulls) * np.maximum(np.abs(pulls) - 9.81, 0) / 2 * n * h
        np.testing.assert_allclose(report.v[:, x], want, atol=1e-9)
    # a force on the dof itself does the same, and what moves it is what friction leaves of the force
    tau = np.zeros((8, system.n_v))
    tau[:, x] = pulls
    Q, pushed = system.step_batch(system.q0, [], tau=tau, report=True)
    string = qs.Wrench("block", force=F)
    np.testing.assert_allclose(system.step_batch(system.q0, [], wrenches=string), Q, rtol=0, atol=1e-12 * size)
    dragged = np.array([r.contacts["f"][:, 0].sum() for r in pushed.reports])
    np.testing.assert_allclose(pushed.v[:, x] * 2, (pulls + dragged) * h, atol=1e-9)


def test_loads_that_do_not_fit_are_told(push):
    u = push.commanded(push.q0)
    with pytest.raises(ValueError, match=r"`force of 'box'` has shape \(4, 3\); this system wants \(3, 3\) or \(3,\)"):
        push.step_batch(np.tile(push.q0, (3, 1)), u, wrenches=qs.Wrench("box", force=np.zeros((4, 3))))
    with pytest.raises(ValueError, match=r"`force of 'box'` has shape \(4, 3\); this system wants \(2, 5, 3\) or \(5, 3\) or \(3,\)"):
        push.simulate_batch(np.tile(u, (2, 5, 1)), wrenches=qs.Wrench("box", force=np.zeros((4, 3))))
    with pytest.raises(ValueError, match=r"`tau` has shape \(3, 2\); this system wants \(3, 8\) or \(8,\)"):
        push.step_batch(push.q0, u, tau=np.zeros((3, 2)))
    with pytest.raises(TypeError, match="is no wrench; give quasistep.Wrench"):
        push.step_batch(push.q0, u, wrenches=[(1, 2, 3)])
    with pytest.raises(qs.SceneError, match="crate"):
        push.step_batch(push.q0, u, wrenches=qs.Wrench("crate"))
    odd = qs.Wrench("box", force=[[0, 0, 0], [0, 0, np.nan]])
    _, report = push.step_batch(push.q0, u, wrenches=odd, report=True)
    assert list(report.errors) == [1] and "finite" in str(report.errors[1])
