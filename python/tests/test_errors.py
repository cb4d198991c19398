"""Mistakes are named, in the words of the command line."""

import pickle

import numpy as np
import pytest

import quasistep as qs


def test_scene_error_has_file_line_and_key(tmp_path):
    path = tmp_path / "bad.yml"
    path.write_text("models:\n  ball:\n    mass: -1\n    shape: {sphere: {radius: 0.1}}\n")
    with pytest.raises(qs.SceneError) as caught:
        qs.load(path)
    error = caught.value
    assert (error.file, error.line, error.key) == (str(path), 3, "models.ball.mass")
    assert str(error) == f"{path}:3: models.ball.mass: -1 was seen; it must be > 0 kg"
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, qs.SceneError) and (again.line, str(again)) == (3, str(error))


def test_missing_file_is_a_scene_error():
    with pytest.raises(qs.SceneError, match="not readable"):
        qs.load("scenes/none.yml")


def test_change_that_fits_nothing_is_named():
    with pytest.raises(qs.SceneError, match="step.sise"):
        qs.load("scenes/pinch.yml", set={"step.sise": 0.1})


def test_mistake_in_code_has_its_key_and_no_line():
    scene = qs.SystemBuilder(step={"inertia": "mas"})
    scene.model("ball", mass=1, shape=qs.sphere(0.1))
    with pytest.raises(qs.SceneError) as caught:
        scene.build()
    assert caught.value.key == "step.inertia" and caught.value.line is None
    assert "did you mean `mass`" in str(caught.value) and not str(caught.value).startswith(":")


def test_numpy_and_none_are_understood_in_code():
    tree = {"models": {"ball": {"mass": np.float64(1), "com": None, "shape": qs.sphere(np.array(0.1))}}}
    assert qs.from_dict(tree).n_v == 6
    with pytest.raises(TypeError, match="a set was seen"):
        qs.from_dict({"models": {"ball": {"mass": {1}}}})


def test_step_errors_carry_their_details(push, pinch):
    with pytest.raises(qs.LengthError) as length:
        push.step(push.q0, [1.0])
    assert (length.value.what, length.value.got, length.value.want) == ("q_cmd", 1, 2)
    with pytest.raises(qs.ParameterError, match="time_step"):
        push.step(push.q0, h=-1.0)
    with pytest.raises(qs.InputError, match="NaN"):
        push.step(np.full(push.n_q, np.nan))
    with pytest.raises(qs.InputError, match="wrench"):
        push.step(push.q0, wrenches=[qs.Wrench(99)])
    with pytest.raises(qs.SceneError, match="did you mean `box/box`"):
        push.step(push.q0, wrenches=[qs.Wrench("boxx/box")])
    massless = pinch.with_({"step.inertia": "none"})
    with pytest.raises(qs.UnsupportedError) as lost:
        massless.step(massless.q_vector({"left.x": -0.1, "right.x": 0.1}))
    assert lost.value.bodies == ["held/held"]
    assert pickle.loads(pickle.dumps(lost.value)).bodies == ["held/held"]


def test_a_run_that_stops_keeps_what_it_has(pinch):
    massless = pinch.with_({"step.inertia": "none"})
    # the pads let go in the fifth step: then nothing holds the body, however near they were at its start
    U = np.tile(massless.command(0.0)[0], (10, 1))
    U[4:] = [-0.1, 0.1]
    with pytest.raises(qs.UnsupportedError) as caught:
        massless.simulate(U)
    assert "the step after t = 0.4 s was not taken" in str(caught.value)
    assert len(caught.value.run.t) == 5
    run = massless.simulate(U, on_error="stop")
    assert isinstance(run.error, qs.UnsupportedError) and len(run.t) == 5
    np.testing.assert_array_equal(run.q, caught.value.run.q)


def test_a_first_step_that_fails_raises_its_own_error(pinch):
    massless = pinch.with_({"step.inertia": "none"})
    U = np.tile([-0.1, 0.1], (3, 1))
    with pytest.raises(qs.UnsupportedError, match="the step after t = 0 s was not taken"):
        massless.simulate(U)
    run = massless.simulate(U, on_error="stop")
    assert isinstance(run.error, qs.UnsupportedError)
    assert len(run.t) == 1 and run.step_us.shape == (0,)


def test_shapes_are_named(push):
    with pytest.raises(ValueError, match=r"`U` has shape \(3, 4\); this system wants"):
        push.simulate(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="`Q` has shape"):
        push.step_batch(np.zeros((3, 4)), push.commanded(push.q0))
    with pytest.raises(ValueError, match="duration is nan; it must be a number > 0"):
        push.simulate(duration=np.nan)
    with pytest.raises(ValueError, match="U and duration were given"):
        push.simulate(np.zeros((3, 2)), duration=1.0)
    with pytest.raises(KeyError, match="finger.x"):
        push.coordinates.index("fnger.x")


def test_wrong_words_of_parameters_are_named():
    with pytest.raises(qs.SceneError, match="unknown key `sise`"):
        qs.StepParams(sise=1)
    with pytest.raises(qs.SceneError, match="even number of edges"):
        qs.StepParams(cone=3)
    with pytest.raises(qs.SceneError, match="the duration belongs to a run"):
        qs.StepParams(duration=3)


@pytest.mark.parametrize(
    "words",
    [
        {"cone": "round", "inertia": "mass", "integration": "midpoint", "gravity": [0, 1, 2.5]},
        {"cone": 6, "prescribed_rate": "derivative", "size": 1e-7, "contact_margin": 0},
        {"inertia": "mass", "passive_mass_scale": 5, "tangents": "normal", "max_overlap": np.inf},
    ],
)
def test_words_of_parameters_go_both_ways(words):
    params = qs.StepParams(**words)
    assert {key: params[key] for key in words} == words
    assert qs.StepParams(**params.asdict()) == params


@pytest.mark.parametrize("values", [None, -1, b"x", object(), np.zeros(3)])
def test_what_is_no_mapping_is_named(push, values):
    for call in (push.with_, push.q_vector, push.u_vector):
        with pytest.raises(TypeError, match="it must be a dict of values by name"):
            call(values)


def test_times_and_rates_that_are_no_numbers_are_named(push):
    u = push.command(0.1)[0]
    for t in (np.nan, np.inf):
        with pytest.raises(qs.InputError, match="finite"):
            push.command(t)
        with pytest.raises(qs.InputError, match="finite"):
            push.step(push.q0, u, t=t)
        with pytest.raises(qs.InputError, match="finite"):
            push.simulate([u], t0=t)
        with pytest.raises(qs.InputError, match="finite"):
            push.derivatives(push.q0, u, t=t)
    v = np.zeros(push.n_v)
    with pytest.raises(qs.InputError, match="h: nan|h: NaN"):
        push.integrate(push.q0, v, np.nan)
    v[2] = np.nan
    with pytest.raises(qs.InputError, match=r"v\[2\]: NaN"):
        push.integrate(push.q0, v, 0.1)


def test_a_note_says_how_to_read_what_an_error_means():
    for call, name in [
        (lambda: qs.loads("models: {a: {mas: 1}}"), "unknown-key"),
        (lambda: qs.load("scenes/pinch.yml").step([0.0]), "argument"),
        (lambda: qs.load("scenes/pinch.yml", set={"step.integration": "midpoint"}).derivatives(), "derivative"),
    ]:
        with pytest.raises(qs.QuasistepError) as caught:
            call()
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert error.__notes__ == [f"help: quasistep explain {name}"]
            assert "explain" not in str(error)


def test_scenes_of_the_folder_that_one_works_in_change_and_travel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corners = [(x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (0, 1))]
    faces = ["1 3 2", "4 5 6", "1 2 5", "1 5 4", "2 3 6", "2 6 5", "3 1 4", "3 4 6"]
    lines = [f"v {x / 10} {y / 10} {z / 10}" for x, y, z in corners] + [f"f {face}" for face in faces]
    (tmp_path / "wedge.obj").write_text("\n".join(lines))
    (tmp_path / "cell.yml").write_text("models:\n  wedge: {mass: 1, shape: {mesh: {file: wedge.obj}}}\n")
    for path in ("cell.yml", "./cell.yml", tmp_path / "cell.yml", "../" + tmp_path.name + "/cell.yml"):
        system = qs.load(path)
        assert system.with_({"models.wedge.mass": 2}).mass_matrix(system.q0)[-1, -1] == 2
        assert pickle.loads(pickle.dumps(system)).n_q == system.n_q
