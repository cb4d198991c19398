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
