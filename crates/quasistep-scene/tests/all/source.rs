//! A scene can be rebuilt from its source alone, and parameters from their words.

use quasistep::{
    Cone, Fallback, Formulation, Inertia, Integration, PrescribedRate, Relaxation, Rotations,
    Sizes, StepParams, Substeps, TangentAxes,
};
use quasistep_scene::{Scene, read_step_words, step_words};
use std::path::{Path, PathBuf};

fn scenes() -> Vec<PathBuf> {
    testkit::scene_files().iter().map(|name| testkit::scene_path(name)).collect()
}

/// The source contains every file; otherwise the copy could not be built from memory.
#[test]
fn a_copy_from_the_source_takes_the_same_first_step() {
    for file in scenes() {
        let scene = Scene::load(&file).unwrap();
        let mut source = scene.source().clone();
        // move all files to a folder that does not exist, so that none can be read from disk
        let (old, new) = (source.dir.clone(), PathBuf::from("/nowhere/at/all"));
        source.dir.clone_from(&new);
        for (path, _) in source.files.iter_mut().flatten() {
            // files of packages are in other folders
            if let Ok(below) = path.strip_prefix(&old) {
                *path = new.join(below);
            }
        }
        let copy =
            Scene::from_source(&source).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        assert_eq!(copy.start, scene.start);
        assert_eq!(copy.drawing, scene.drawing);
        let steps = [&scene, &copy].map(|s| s.first_step().unwrap().report.v);
        assert_eq!(steps[0], steps[1], "{}", file.display());
        // packages are also searched in the folders above a scene, which differ here
        let mut again = copy.source().clone();
        for files in [&mut source, &mut again].map(|s| s.files.as_mut().unwrap()) {
            files.retain(|(_, bytes)| bytes.is_some());
            files.sort();
        }
        assert!(again == source, "{}", file.display());
    }
}

#[test]
fn changes_add_up_and_files_stay_as_they_were() {
    let file = scenes().into_iter().find(|f| f.ends_with("iiwa_stacking.yml")).unwrap();
    let scene = Scene::load_with(&file, &[("step.size".into(), "0.2".into())]).unwrap();
    assert!(scene.source().files.as_ref().is_some_and(|files| files.len() >= 3));
    let changed = scene.with_changes(&[("step.cone".into(), "round".into())]).unwrap();
    assert_eq!(changed.params.time_step, 0.2);
    assert_eq!(changed.params.formulation.cone, Cone::Round);
    assert_eq!(changed.source().changes.len(), 2);
    assert_eq!(changed.source().files, scene.source().files);
    let wrong = scene.with_changes(&[("step.cone".into(), "3".into())]).unwrap_err();
    assert_eq!(wrong.key, "--set step.cone");
}

/// A text whose paths start at the current folder takes changes, also of what its files are.
#[test]
fn a_text_with_relative_files_takes_changes() {
    let text = "models:\n  arm: {urdf: ../../scenes/models/iiwa7/iiwa7.urdf}\n  \
                bowl: {mass: 1, shape: {mesh: {file: ../../scenes/models/sheets/bowl.obj}}}\n";
    for dir in [".", ""] {
        let scene = Scene::parse(text, "", "scene", Path::new(dir), &[]).unwrap();
        let with = |key: &str, value: &str| scene.with_changes(&[(key.into(), value.into())]);
        assert_eq!(with("models.bowl.mass", "2").unwrap().start, scene.start);
        let other = "../../scenes/models/sheets/funnel.obj";
        let changed = with("models.bowl.shape.mesh.file", other).unwrap();
        assert_ne!(changed.drawing, scene.drawing);
        let again = Scene::from_source(changed.source()).unwrap();
        assert_eq!(again.drawing, changed.drawing);
    }
}

#[test]
fn a_file_that_is_not_in_the_source_is_not_looked_for() {
    let file = scenes().into_iter().find(|f| f.ends_with("iiwa_stacking.yml")).unwrap();
    let mut source = Scene::load(&file).unwrap().source().clone();
    source
        .files
        .as_mut()
        .unwrap()
        .retain(|(path, _)| path.extension().is_some_and(|e| e != "urdf"));
    let error = Scene::from_source(&source).unwrap_err();
    assert!(error.message.contains("does not exist"), "{error}");
}

#[test]
fn a_scene_that_is_no_file_complains_by_key() {
    let text = "models: {ball: {mass: -1, shape: {sphere: {radius: 1}}}}";
    let error = Scene::parse(text, "", "scene", Path::new("."), &[]).unwrap_err();
    assert_eq!((error.line, error.file.as_str()), (None, ""));
    assert_eq!(error.to_string(), "models.ball.mass: -1 was seen; it must be > 0 kg");
    assert!(
        Scene::parse("models: [", "", "scene", Path::new("."), &[]).unwrap_err().line.is_none()
    );
}

#[test]
fn step_words_go_both_ways() {
    let round = StepParams {
        time_step: 1e-7,
        sizes: None,
        contact_margin: 0.0,
        max_overlap: 2.5e-4,
        substeps: Substeps::Never,
        max_recovery_speed: 1e3,
        gravity: [0.0, -1.5e-3, 9.81],
        formulation: Formulation::convex(Cone::Round),
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        passive_mass_scale: Some(2.5),
        tangents: TangentAxes::Normal,
        rotations: Rotations::Linear,
        prescribed_rate: PrescribedRate::Derivative,
        integration: Integration::Midpoint,
        fallback: Fallback::Proximal,
        fallback_stiffness: 250.0,
        accuracy: 1e-8,
        work_limit: 3_000_000_000,
        uniqueness: true,
    };
    let coulomb = StepParams {
        formulation: Formulation::exact(Cone::Box),
        fallback: Fallback::Impedance,
        contact_margin: f64::INFINITY,
        max_overlap: f64::INFINITY,
        max_recovery_speed: f64::INFINITY,
        work_limit: u64::MAX,
        ..StepParams::default()
    };
    let chosen = StepParams {
        time_step: 0.3,
        sizes: Some(Sizes { tolerance: 1e-5, min: 1e-4, max: 0.3 }),
        ..StepParams::default()
    };
    for params in [StepParams::default(), round, coulomb, chosen] {
        let words: Vec<_> =
            step_words(&params).into_iter().map(|(k, w)| (k.to_owned(), w)).collect();
        assert_eq!(read_step_words(&StepParams::default(), &words).unwrap(), params);
        assert_eq!(read_step_words(&params, &[]).unwrap(), params);
    }
    let base = StepParams::default();
    let read = |key: &str, word: &str| read_step_words(&base, &[(key.into(), word.into())]);
    assert_eq!(read("cone", "8").unwrap().formulation.cone, Cone::Pyramid(8));
    assert!(read("cone", "7").unwrap_err().message.contains("even number of edges"));
    for word in [".inf", "+.Inf", "Infinity"] {
        assert_eq!(read("contact_margin", word).unwrap().contact_margin, f64::INFINITY);
    }
    assert!(read("contact_margin", "-.inf").unwrap_err().message.contains("finite"));
    assert!(read("size", ".inf").unwrap_err().message.contains("finite"));
    let massless = StepParams { inertia: Inertia::None, ..StepParams::default() };
    let scaled = [("passive_mass_scale".to_owned(), "5".to_owned())];
    let without_mass = read_step_words(&massless, &scaled).unwrap_err();
    assert!(without_mass.message.contains("needs `inertia: mass`"), "{without_mass}");
    assert_eq!(read("duration", "7").unwrap_err().key, "step.duration");
    assert!(read("sise", "7").unwrap_err().message.contains("did you mean `size`"));
    assert!(read("gravity", "down").unwrap_err().message.contains("give 3 numbers"));
}
