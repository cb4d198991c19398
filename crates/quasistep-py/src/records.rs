//! Contacts as records of a numpy structured array. One table defines names, types and order of the
//! fields.

use numpy::{PyArray1, PyArrayDescr};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use quasistep::{Certificate, ConstraintReport, ContactMode, ContactReport};
use quasistep_record::Contact;

/// Fields `(name, type, entries)` of a contact, as [`push`] writes them, in SI units and the world
/// frame. Forces act on body B.
pub const CONTACT: [(&str, &str, usize); 19] = [
    ("a", "<i4", 1),
    ("b", "<i4", 1),
    ("p", "<f8", 3),
    ("n", "<f8", 3),
    ("phi", "<f8", 1),
    ("phi_next", "<f8", 1),
    ("fn", "<f8", 1),
    ("f", "<f8", 3),
    ("spin", "<f8", 1),
    ("mode", "<i4", 1),
    ("feature", "<u4", 1),
    ("shape_a", "<i4", 1),
    ("shape_b", "<i4", 1),
    ("roll", "<f8", 3),
    ("slip", "<f8", 3),
    ("spin_rate", "<f8", 1),
    ("mu", "<f8", 1),
    ("boundary_layer", "<f8", 1),
    ("artificial", "<i8", 1),
];
/// Fields `(name, type, entries)` of a constraint, as [`push_constraint`] writes them, in SI units
/// and the world frame. Forces act on body B.
const CONSTRAINT: [(&str, &str, usize); 8] = [
    ("p", "<f8", 3),
    ("f", "<f8", 3),
    ("torque", "<f8", 3),
    ("multiplier", "<f8", 1),
    ("error", "<f8", 1),
    ("angle", "<f8", 1),
    ("dependent", "<i8", 1),
    ("on", "<i8", 1),
];
/// Size of a contact's record, in bytes.
pub const SIZE: usize = 208;
/// Fields of [`CONTACT`] that a recording does not contain.
const NOT_RECORDED: [&str; 4] = ["slip", "spin_rate", "boundary_layer", "artificial"];
/// Fields before those of a contact, in arrays of a run.
const OF_RUN: [(&str, &str, usize); 2] = [("t", "<f8", 1), ("step", "<i8", 1)];
/// Fields before those of a contact, in arrays of a batch.
const OF_BATCH: [(&str, &str, usize); 1] = [("sample", "<i8", 1)];
/// Fields before those of a contact, in arrays of rollouts.
const OF_ROLLOUTS: [(&str, &str, usize); 2] = [("sample", "<i8", 1), ("step", "<i8", 1)];

/// Kind of an array of contacts.
#[derive(Clone, Copy)]
pub enum Of {
    Step,
    Run,
    Batch,
    Recording,
    Rollouts,
}

fn doubles(bytes: &mut Vec<u8>, values: &[f64]) {
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn words(bytes: &mut Vec<u8>, values: &[u32]) {
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

/// Appends the record of one contact.
pub fn push(bytes: &mut Vec<u8>, c: &ContactReport) {
    let mode: u32 = match c.mode {
        ContactMode::Separate => 0,
        ContactMode::Stick => 1,
        ContactMode::Slide => 2,
    };
    words(bytes, &[c.body_a, c.body_b]);
    doubles(bytes, &c.p_W.to_array());
    doubles(bytes, &c.n_AB_W.to_array());
    doubles(bytes, &[c.phi, c.phi_next, c.normal_force]);
    doubles(bytes, &c.net_force_W().to_array());
    doubles(bytes, &[c.spin_torque]);
    words(bytes, &[mode, c.feature, c.geom_a, c.geom_b]);
    doubles(bytes, &c.roll_torque_W.to_array());
    doubles(bytes, &c.slip_W.to_array());
    doubles(bytes, &[c.spin_rate, c.friction.mu, c.boundary_layer]);
    bytes.extend(i64::from(c.artificial).to_le_bytes());
}

/// Appends the record of one constraint.
pub fn push_constraint(bytes: &mut Vec<u8>, c: &ConstraintReport) {
    for vector in [c.p_W, c.force_W, c.torque_W] {
        doubles(bytes, &vector.to_array());
    }
    doubles(bytes, &[c.multiplier, c.error, c.angle]);
    bytes.extend(i64::from(c.dependent).to_le_bytes());
    bytes.extend(i64::from(c.on).to_le_bytes());
}

/// Structured array over the bytes of constraint records.
pub fn constraints(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Bound<'_, PyAny>> {
    static TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let dtype = TYPE.get_or_try_init(py, || descr(py, &CONSTRAINT))?;
    PyArray1::from_vec(py, bytes).call_method1("view", (dtype,))
}

/// numpy dtype of records with the given fields.
fn descr(py: Python<'_>, fields: &[(&str, &str, usize)]) -> PyResult<Py<PyAny>> {
    let word = |kind: &str, n: usize| if n == 1 { kind.to_owned() } else { format!("{n}{kind}") };
    let fields: Vec<_> = fields.iter().map(|&(name, kind, n)| (name, word(kind, n))).collect();
    Ok(PyArrayDescr::new(py, fields)?.into_any().unbind())
}

/// Appends the record of one contact of a recording.
pub fn push_recorded(bytes: &mut Vec<u8>, c: &Contact) {
    words(bytes, &[c.a as u32, c.b as u32]);
    doubles(bytes, &c.p_W.to_array());
    doubles(bytes, &c.n_AB_W.to_array());
    doubles(bytes, &[c.phi, c.phi_next, c.normal_force]);
    doubles(bytes, &c.force_W.to_array());
    doubles(bytes, &[c.spin]);
    words(bytes, &[c.mode as u32, c.key.feature, c.key.shape_a as u32, c.key.shape_b as u32]);
    doubles(bytes, &c.roll_W.to_array());
    doubles(bytes, &[c.mu]);
}

/// Structured array over the bytes of contact records.
pub fn array(py: Python<'_>, bytes: Vec<u8>, of: Of) -> PyResult<Bound<'_, PyAny>> {
    PyArray1::from_vec(py, bytes).call_method1("view", (dtype(py, of)?,))
}

/// numpy dtype of an array of contacts.
pub fn dtype(py: Python<'_>, of: Of) -> PyResult<&Py<PyAny>> {
    static TYPES: [PyOnceLock<Py<PyAny>>; 5] = [const { PyOnceLock::new() }; 5];
    TYPES[of as usize].get_or_try_init(py, || {
        let before: &[(&str, &str, usize)] = match of {
            Of::Step => &[],
            Of::Run | Of::Recording => &OF_RUN,
            Of::Batch => &OF_BATCH,
            Of::Rollouts => &OF_ROLLOUTS,
        };
        let fields: Vec<_> =
            before
                .iter()
                .chain(CONTACT.iter().filter(|(name, ..)| {
                    !matches!(of, Of::Recording) || !NOT_RECORDED.contains(name)
                }))
                .copied()
                .collect();
        descr(py, &fields)
    })
}

/// The numbers of a certificate, in the order of `quasistep.Certificate`.
pub fn certificate(c: &Certificate) -> [f64; 8] {
    let Certificate {
        force_balance,
        torque_balance,
        penetration,
        true_distance,
        cone_violation,
        complementarity,
        constraint,
        force_scale,
    } = *c;
    [
        force_balance,
        torque_balance,
        penetration,
        true_distance,
        cone_violation,
        complementarity,
        force_scale,
        constraint,
    ]
}
