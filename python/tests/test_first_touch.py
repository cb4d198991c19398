"""What a new user tries first, and the sentence that comes back."""

import pickle

import numpy as np
import pytest

import quasistep as qs


def test_complex_numbers_are_refused(push):
    q = push.q0 + 0j
    for call in (push.step, push.derivatives, lambda q: push.simulate(q0=q), lambda q: push.pose("box", q)):
        with pytest.raises(TypeError, match="complex"):
            call(q)
    with pytest.raises(TypeError, match="`Q` is complex"):
        push.step_batch(q, np.zeros((3, 2)))


def test_shapes_are_told_by_name_seen_and_wanted(push):
    for call, words in [
        (lambda: push.step(push.q0[None]), r"`q` has shape \(1, 9\); it must be one vector"),
        (lambda: push.step(push.q0, np.zeros((1, 2))), r"`u` has shape \(1, 2\)"),
        (lambda: push.step(push.q0[:3]), "`q` has 3 entries; this system has 9"),
        (lambda: push.simulate(q0=push.q0[None]), r"`q0` has shape \(1, 9\)"),
        (lambda: push.simulate(np.zeros((3, 3))), r"`U` has shape \(3, 3\)"),
        (lambda: push.simulate(duration="long"), "duration is 'long'"),
    ]:
        with pytest.raises((ValueError, qs.LengthError), match=words):
            call()


@pytest.mark.parametrize("threads", [-1, 0, 1.5, True])
def test_threads_are_a_whole_number(push, threads):
    with pytest.raises(ValueError, match="threads is"):
        push.step_batch(push.q0, np.zeros((3, 2)), threads=threads)
    with pytest.raises(ValueError, match="threads is"):
        push.derivatives_batch(push.q0, np.zeros((3, 2)), threads=threads)


def test_a_single_wrench_is_a_wrench(push):
    lift = qs.Wrench("box", force=(0, 0, 1))
    one, _ = push.step(push.q0, wrenches=lift)
    many, _ = push.step(push.q0, wrenches=[lift])
    np.testing.assert_array_equal(one, many)
    with pytest.raises(ValueError, match="`force` of Wrench.* must be three numbers"):
        push.step(push.q0, wrenches=[qs.Wrench("box", force=(0, 1))])
    with pytest.raises(TypeError, match="give quasistep.Wrench"):
        push.step(push.q0, wrenches=[("box", (0, 0, 1))])


def test_a_key_of_vary_that_fits_nothing_is_an_error(push):
    U = push.commanded(push.q0)
    with pytest.raises(qs.SceneError, match="did you mean `mass`") as caught:
        push.step_batch(push.q0, U, vary={"models.box.mas": [1.0, 2.0]})
    assert "--set" not in str(caught.value) and caught.value.key == "models.box.mas"
    with pytest.raises(qs.SceneError, match="did you mean"):
        push.step_batch(push.q0, U, vary={"models.box.mas": [1.0, 2.0]}, report=True)
    # one bad value of several is that sample's own answer
    _, report = push.step_batch(push.q0, U, vary={"models.box.mass": [1.0, -2.0]}, report=True)
    assert list(report.errors) == [1]


def test_errors_speak_of_arguments_of_python():
    with pytest.raises(qs.SceneError, match=r'^set\["step.sise"\]: unknown key') as caught:
        qs.load("scenes/planar_push.yml", set={"step.sise": 1})
    assert caught.value.key == "step.sise"


def test_a_model_of_one_body_is_its_body(push):
    run = push.simulate(duration=0.5)
    short, whole = run.contacts_of("table", "box"), run.contacts_of("table/table", "box/box")
    assert len(short) > 0 and (short == whole).all()
    assert push.bodies.index("box") == push.bodies.index("box/box")
    assert pickle.loads(pickle.dumps(push.bodies)).index("box") == push.bodies.index("box")
    with pytest.raises(KeyError, match="no name `boks`"):
        run.contacts_of("boks", "table")
    # and so are those of one step, also where its report has been elsewhere
    _, report = push.step(push.q0)
    for told in (report, pickle.loads(pickle.dumps(report))):
        of_box, under = told.contacts_of("box"), told.contacts_of("box", "table")
        box = push.bodies.index("box")
        assert len(under) == 4 and ((told.contacts["a"] == box) | (told.contacts["b"] == box)).sum() == len(of_box)
        assert under["fn"].sum() == pytest.approx(0.8 * 9.81, rel=1e-6)
        with pytest.raises(KeyError, match="no name `boks`"):
            told.contacts_of("boks")
    assert len(run.contacts_of("box")) >= len(whole)


def test_a_text_with_relative_files_takes_changes(tmp_path, monkeypatch):
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (tmp_path / "n.obj").write_text((tmp_path / "m.obj").read_text().replace("v 0 0 1", "v 0 0 2"))
    (tmp_path / "t.csv").write_text("t,x\n0,0\n1,1\n")
    monkeypatch.chdir(tmp_path)
    system = qs.loads("""
models:
  a: {mass: 1, shape: {mesh: {file: m.obj}}}
  f: {joint: {slide: x, axis: [1, 0, 0], role: prescribed}, pose: {xyz: [5, 0, 0]}, shape: {sphere: {radius: 0.1}}}
commands: [{joint: f.x, csv: {file: t.csv, t: t, columns: [x]}}]
""")
    # its paths start where it was made, wherever the program goes from there
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for one in (system, pickle.loads(pickle.dumps(system))):
        assert one.with_({"models.a.mass": 2}).n_v == system.n_v
        changed = one.with_({"models.a.shape.mesh.file": "n.obj"})
        assert changed.with_({"step.size": 0.1}).h == 0.1


def test_a_plot_shows_itself(push):
    figure = push.simulate(duration=0.5).plot()
    assert figure._repr_png_()[1:4] == b"PNG"


def test_show_hands_itself_to_the_notebook(gripper, monkeypatch):
    import sys
    from types import ModuleType, SimpleNamespace

    shown = []
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(config={"IPKernelApp": {}})
    display.display = shown.append
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    run = gripper.simulate()
    run.show()
    assert shown == [run] and "iframe" in run._repr_html_()


def test_a_run_is_read_without_its_scene(gripper, tmp_path):
    run = gripper.simulate()
    run.save(tmp_path, every=10, page=False)
    assert not (tmp_path / "view.html").exists() and not (tmp_path / "states.csv").exists()
    back = qs.read_run(tmp_path)
    kept = [0, 10, 20, 30, 35]
    np.testing.assert_array_equal(back.t, run.t[kept])
    np.testing.assert_array_equal(back.q, run.q[kept])
    np.testing.assert_array_equal(back.poses, run.poses[kept])
    np.testing.assert_array_equal(back.u, run.u[np.array(kept[1:]) - 1])
    assert back.coordinates == gripper.coordinates and back.stopped is None
    ours = back.contacts_of("gripper/left", "ball")
    theirs = run.contacts_of("gripper/left", "ball")
    theirs = theirs[np.isin(theirs["step"], kept)]
    np.testing.assert_array_equal(ours["t"], theirs["t"])
    np.testing.assert_allclose(ours["fn"], theirs["fn"], rtol=1e-7)
    # a file that was cut off is read up to there
    whole = (tmp_path / "recording.qsr").read_bytes()
    (tmp_path / "recording.qsr").write_bytes(whole[:-5])
    assert "cut off" in qs.read_run(tmp_path / "recording.qsr").stopped
    with pytest.raises(OSError, match="nothing"):
        qs.read_run(tmp_path / "nothing")
    (tmp_path / "recording.qsr").write_bytes(b"{}")
    with pytest.raises(ValueError, match="does not begin with"):
        qs.read_run(tmp_path)
    with pytest.raises(ValueError, match="every is 0"):
        run.save(tmp_path, every=0)
    # a run that was pickled keeps all digits
    again = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(again.contacts["fn"], run.contacts["fn"])
    assert again.recording.to_bytes() == run.recording.to_bytes()
