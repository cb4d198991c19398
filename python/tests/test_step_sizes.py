"""Steps that choose their size: errors, times, resumed runs, batches, mistakes."""

import pickle

import numpy as np
import pytest

import quasistep as qs


@pytest.fixture(scope="module")
def sized():
    return qs.load("scenes/planar_push.yml", set={"step.tolerance": 1e-3, "step.cone": 8})


def test_a_run_says_what_it_took(sized):
    run = sized.simulate()
    np.testing.assert_allclose(np.diff(run.t), run.h, rtol=1e-9)
    assert run.h.max() > 4 * run.h.min()
    assert run.t[-1] == sized.duration
    assert np.isnan(run.step_errors[::2]).all()
    assert (run.step_errors[1::2] <= 1e-3).all()
    assert run.rejected > 0 and len(run.unresolved) == 0
    assert sized.tolerance == 1e-3 and qs.load("scenes/planar_push.yml").tolerance is None


def test_steps_end_at_the_times_asked_for(sized):
    run = sized.simulate(every=0.1)
    assert np.isin(np.arange(41) * 0.1, run.t).all()


def test_a_resumed_run_has_the_same_bits(sized):
    whole = sized.simulate(every=0.5)
    half = sized.simulate(every=0.5, duration=2.0)
    checkpoint = pickle.loads(pickle.dumps(half.checkpoint))
    rest = sized.simulate(every=0.5, start=checkpoint, duration=2.0)
    k = len(half.t) - 1
    assert whole.t[k] == 2.0
    np.testing.assert_array_equal(whole.t[k:], rest.t)
    np.testing.assert_array_equal(whole.q[k:], rest.q)
    # without the next size the run begins with the largest steps
    t, q, velocity = checkpoint[:3]
    bare = sized.simulate(every=0.5, q0=q, v0=velocity, t0=t, duration=2.0)
    assert bare.rejected > rest.rejected


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_samples_choose_their_own_sizes(sized, threads):
    way = np.linspace(0, 1, 9)[1:, None] * [1, 0]
    U = sized.command(0.0)[0] + np.linspace(0.05, 0.2, 6)[:, None, None] * way
    Q, report = sized.simulate_batch(U, every=0.25, threads=threads, report=True)
    assert report.ok.all() and (report.n_steps == 8).all()
    assert report.sized_steps[0] < report.sized_steps[-1]
    alone = sized.simulate(U[-1], every=0.25)
    rows = np.searchsorted(alone.t, 0.25 * np.arange(1, 9))
    np.testing.assert_array_equal(alone.q[rows], Q[-1])
    assert len(alone.h) == report.sized_steps[-1]


def test_samples_have_their_own_tolerances():
    system = qs.load("scenes/planar_push.yml")
    U = system.command(0.0)[0] + np.linspace(0, 0.1, 5)[1:, None] * [1, 0]
    vary = {"step.tolerance": [1e-2, 1e-4]}
    _, report = system.simulate_batch(U, every=0.5, vary=vary, report=True)
    assert 0 < report.sized_steps[0] < report.sized_steps[1]


def test_progress_is_simulated_time(sized):
    told = []
    sized.simulate(progress=lambda done, total: told.append((done, total)))
    assert told[-1] == pytest.approx((4.0, 4.0))


def test_one_step_keeps_one_size(sized):
    _, report = sized.step(sized.q0, h=0.05)
    assert report.size == 0.05 and report.choice is None
    assert sized.step(sized.q0)[1].size == sized.h == 0.4
    fixed = sized.simulate(h=0.05)
    assert len(fixed.t) == 81 and np.isnan(fixed.step_errors).all()


def test_parameters_have_the_words_of_scenes(sized):
    params = qs.StepParams(tolerance=1e-3)
    assert params["tolerance"] == 1e-3 and "size" not in params.asdict()
    assert params.replace(size=0.1).asdict().get("tolerance") is None
    plain = qs.load("scenes/planar_push.yml", set={"step.cone": 8})
    one = plain.simulate(params=plain.params.replace(tolerance=1e-3))
    np.testing.assert_array_equal(one.q, sized.simulate().q)


def test_mistakes_say_what_helps(sized):
    U = np.tile(sized.command(0.0)[0], (3, 1))
    with pytest.raises(ValueError, match="give every"):
        sized.simulate(U)
    with pytest.raises(ValueError, match="give every"):
        sized.simulate_batch(U)
    with pytest.raises(ValueError, match="steps have one size"):
        sized.simulate(h=0.05, every=0.1)
    with pytest.raises(ValueError, match="must be a number > 0"):
        sized.simulate(every=0.0)
    with pytest.raises(qs.SceneError, match="both seen"):
        qs.StepParams(size=0.1, tolerance=1e-3)
