//! Plots of a run: `plots/*.svg`.

use crate::ViewError;
use crate::plot::{Axis, Figure, Line, PALETTE, Panel, Series};
use quasistep_record::{Contact, Mode, Recording, quaternion_starts, write_whole};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Name and values of a line, one value per frame.
type Column = (String, Vec<f64>);

/// Most lines in a panel.
const PER_PANEL: usize = 8;

/// Relative difference of times between frames that is rounding.
const SAME_SIZE: f64 = 1e-9;

/// Writes the plots of a run into `dir`, which is created if missing. Returns the files.
///
/// Plots without data are not written.
///
/// | file | content |
/// |---|---|
/// | `joints.svg` | commanded coordinates and their commands |
/// | `efforts.svg` | drive forces |
/// | `bodies.svg` | the passive coordinates that move most |
/// | `forces.svg` | normal forces of the body pairs with the largest ones, and their torques about the normal |
/// | `contacts.svg` | number of contacts by mode |
/// | `step_sizes.svg` | time between frames, if it varies: the sizes that a tolerance chose |
///
/// # Errors
///
/// [`ViewError::Recording`] if the recording is inconsistent; [`ViewError::Io`] otherwise.
pub fn write_plots(recording: &Recording, dir: &Path) -> Result<Vec<PathBuf>, ViewError> {
    recording.check().map_err(ViewError::Recording)?;
    std::fs::create_dir_all(dir).map_err(|e| ViewError::io(dir, e))?;
    let figures = [
        ("joints.svg", joints(recording)),
        ("efforts.svg", efforts(recording)),
        ("bodies.svg", bodies(recording)),
        ("forces.svg", forces(recording)),
        ("contacts.svg", contacts(recording)),
        ("step_sizes.svg", step_sizes(recording)),
    ];
    let mut files = Vec::new();
    for (name, figure) in figures {
        let Some(figure) = figure else { continue };
        let file = dir.join(name);
        write_whole(&file, |out| out.write_all(figure.to_svg().as_bytes()))
            .map_err(|e| ViewError::io(&file, e))?;
        files.push(file);
    }
    Ok(files)
}

fn time_axis() -> Axis {
    Axis::linear("t (s)")
}

fn times(r: &Recording) -> Vec<f64> {
    r.frames.iter().map(|f| f.t).collect()
}

fn titled(r: &Recording, what: &str) -> Figure {
    let name = if r.title.is_empty() { &r.scene } else { &r.title };
    Figure::new(format!("{name}: {what}"))
}

/// Plots commanded coordinates (solid) and their commands (dashed), four pairs per panel.
fn joints(r: &Recording) -> Option<Figure> {
    if r.commands.is_empty() {
        return None;
    }
    let t = times(r);
    let q = r.continuous_q();
    let mut figure = titled(r, "joints (solid) and their commands (dashed)");
    // commands of frames have no coordinate
    let of_joint = |i: &usize| r.coordinate(&r.commands[*i]).is_some();
    let indices: Vec<usize> = (0..r.commands.len()).filter(of_joint).collect();
    for group in indices.chunks(PER_PANEL / 2) {
        let mut panel = Panel::new(time_axis(), Axis::linear("m or rad")).height(250.0);
        for (i, &command) in group.iter().enumerate() {
            let name = &r.commands[command];
            let Some(coordinate) = r.coordinate(name) else { continue };
            let actual: Vec<f64> = q.iter().map(|row| row[coordinate]).collect();
            let wanted: Vec<f64> = r.frames.iter().skip(1).map(|f| f.q_cmd[command]).collect();
            let color = PALETTE[i % PALETTE.len()];
            let start = t.get(1..).unwrap_or_default();
            panel = panel
                .series(Series::new(name, &t, &actual).color(color))
                .series(Series::new("", start, &wanted).color(color).line(Line::Dashed).width(1.3));
        }
        figure = figure.panel(panel);
    }
    Some(figure)
}

/// Plots drive forces of the commanded coordinates.
fn efforts(r: &Recording) -> Option<Figure> {
    if r.commands.is_empty() || r.frames.len() < 2 {
        return None;
    }
    let t = &times(r)[1..];
    let mut figure = titled(r, "drive forces");
    let indices: Vec<usize> = (0..r.commands.len()).collect();
    for group in indices.chunks(PER_PANEL) {
        let mut panel = Panel::new(time_axis(), Axis::linear("N or N·m")).height(250.0);
        for &i in group {
            let effort: Vec<f64> = r.frames[1..].iter().map(|f| f.effort[i]).collect();
            panel = panel.series(Series::new(&r.commands[i], t, &effort));
        }
        figure = figure.panel(panel);
    }
    Some(figure)
}

/// Plots the time between frames.
fn step_sizes(r: &Recording) -> Option<Figure> {
    let t = times(r);
    let sizes: Vec<f64> = t.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let [least, most] =
        [sizes.iter().copied().reduce(f64::min)?, sizes.iter().copied().reduce(f64::max)?];
    // the last step of a run with steps of one size may be shorter
    if sizes.len() < 3
        || sizes[..sizes.len() - 1].iter().all(|h| most - h <= SAME_SIZE * most)
        || least <= 0.0
    {
        return None;
    }
    let panel = Panel::new(time_axis(), Axis::log("h (s)")).height(250.0);
    Some(titled(r, "step sizes").panel(panel.series(Series::new("", &t[1..], &sizes))))
}

/// Plots the passive coordinates that move most. There is one panel for each of x, y, z, one for
/// the angle of orientations since the start, and one for all other coordinates.
fn bodies(r: &Recording) -> Option<Figure> {
    let t = times(r);
    let q = r.continuous_q();
    let starts = quaternion_starts(&r.coordinates);
    let in_quaternion = |i: usize| starts.iter().any(|&s| (s..s + 4).contains(&i));
    let passive = |i: usize| !r.commands.contains(&r.coordinates[i]);
    let mut panels: [(&str, Vec<Column>); 5] = [
        ("x (m)", vec![]),
        ("y (m)", vec![]),
        ("z (m)", vec![]),
        ("turned (deg)", vec![]),
        ("m or rad", vec![]),
    ];
    for (i, name) in r.coordinates.iter().enumerate() {
        if !passive(i) {
            continue;
        }
        if starts.contains(&i) {
            let joint = name.trim_end_matches(".qw").to_owned();
            let angles = q.iter().map(|row| turned(&q[0][i..i + 4], &row[i..i + 4])).collect();
            panels[3].1.push((joint, angles));
        } else if !in_quaternion(i) {
            let column = q.iter().map(|row| row[i]).collect();
            let (panel, joint) = match name.rsplit_once('.') {
                Some((joint, "x")) => (0, joint),
                Some((joint, "y")) => (1, joint),
                Some((joint, "z")) => (2, joint),
                _ => (4, name.as_str()),
            };
            // a slide that is itself named x, y or z has only its model's name as prefix
            let whole = !joint.contains('.');
            panels[panel].1.push((if whole { name } else { joint }.to_owned(), column));
        }
    }
    let mut figure = titled(r, "passive bodies");
    for (label, columns) in panels {
        let total = columns.len();
        let columns = widest(columns, |(_, c)| spread(c));
        if columns.is_empty() {
            continue;
        }
        let mut panel = Panel::new(time_axis(), still_axis(label, &columns)).height(250.0);
        if columns.len() < total {
            panel = panel.title(format!("{} of {total} that move most", columns.len()));
        }
        for (name, column) in columns {
            panel = panel.series(Series::new(name, &t, &column));
        }
        figure = figure.panel(panel);
    }
    (!figure.panels.is_empty()).then_some(figure)
}

/// Plots normal forces and torques about the normal of the body pairs with the largest ones.
fn forces(r: &Recording) -> Option<Figure> {
    let normal = pair_panel(r, "normal force (N)", |c| c.normal_force)?;
    let spins = r.frames.iter().flat_map(|f| &f.contacts).any(|c| c.spin != 0.0);
    let spin = spins.then(|| pair_panel(r, "torque about the normal (N·m)", |c| c.spin));
    let what = if spins { "normal forces and spin torques" } else { "normal forces" };
    let figure = titled(r, what).panel(normal);
    Some(spin.flatten().into_iter().fold(figure, Figure::panel))
}

/// Plots a quantity of contacts, summed over the contacts of each pair of bodies, for the pairs with
/// the largest values. If a body is squeezed from two sides, both sides count.
fn pair_panel(r: &Recording, label: &str, quantity: impl Fn(&Contact) -> f64) -> Option<Panel> {
    let t = times(r);
    let pairs = r.contact_pairs();
    let mut columns: Vec<Column> = pairs
        .iter()
        .map(|(a, b)| (format!("{} – {}", r.bodies[*a], r.bodies[*b]), vec![0.0; t.len()]))
        .collect();
    for (k, frame) in r.frames.iter().enumerate() {
        for contact in &frame.contacts {
            let pair = (contact.a.min(contact.b), contact.a.max(contact.b));
            let at = pairs.binary_search(&pair).expect("all pairs in contact are listed");
            columns[at].1[k] += quantity(contact);
        }
    }
    let total = columns.len();
    let columns = widest(columns, |(_, c)| c.iter().map(|v| v.abs()).sum());
    if columns.is_empty() {
        return None;
    }
    let mut panel = Panel::new(time_axis(), Axis::linear(label)).height(380.0);
    if columns.len() < total {
        panel = panel.title(format!("{} of {total} pairs that carry most", columns.len()));
    }
    for (name, values) in columns {
        // skip frame 0, which has no forces because it is before the first step
        panel = panel.series(Series::new(name, &t[1..], &values[1..]));
    }
    Some(panel)
}

/// Plots the number of contacts by mode.
fn contacts(r: &Recording) -> Option<Figure> {
    if r.frames.iter().all(|f| f.contacts.is_empty()) {
        return None;
    }
    let t = times(r);
    let mut panel = Panel::new(time_axis(), Axis::linear("contacts")).height(300.0);
    for (mode, color) in Mode::ALL.into_iter().zip([PALETTE[9], PALETTE[2], PALETTE[1]]) {
        let count = |f: &quasistep_record::Frame| {
            f.contacts.iter().filter(|c| c.mode == mode).count() as f64
        };
        let counts: Vec<f64> = r.frames.iter().skip(1).map(count).collect();
        panel = panel.series(Series::new(mode.name(), &t[1..], &counts).color(color));
    }
    Some(titled(r, "contacts by mode").panel(panel))
}

/// The columns with the largest measure, at most one panel, in their original order.
fn widest<T>(columns: Vec<T>, measure: impl Fn(&T) -> f64) -> Vec<T> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    let sizes: Vec<f64> = columns.iter().map(measure).collect();
    // a stable sort keeps the recording's order at ties
    order.sort_by(|&i, &j| sizes[j].total_cmp(&sizes[i]));
    order.truncate(PER_PANEL);
    columns.into_iter().enumerate().filter(|(i, _)| order.contains(i)).map(|(_, c)| c).collect()
}

/// Vertical axis whose range is at least a nanometre around constant values, so that rounding noise
/// is not magnified.
fn still_axis(label: &str, columns: &[Column]) -> Axis {
    let axis = Axis::linear(label);
    let all: Vec<f64> = columns.iter().flat_map(|(_, c)| c.iter().copied()).collect();
    match all.first() {
        Some(first) if spread(&all) < 1e-9 => {
            let half = if first.abs() > 1e-9 { 0.5 * first.abs() } else { 1.0 };
            axis.range(first - half, first + half)
        }
        _ => axis,
    }
}

fn spread(column: &[f64]) -> f64 {
    let (low, high) =
        column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    high - low
}

/// Angle between two orientations, in degrees.
fn turned(a: &[f64], b: &[f64]) -> f64 {
    // half angle from sine and cosine: arccos alone is inaccurate for small angles
    let dot: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum();
    let chord =
        |sign: f64| a.iter().zip(b).map(|(x, y)| (x - sign * y).powi(2)).sum::<f64>().sqrt();
    let sign = if dot < 0.0 { -1.0 } else { 1.0 };
    (4.0 * (0.5 * chord(sign)).clamp(0.0, 1.0).asin()).to_degrees()
}

#[cfg(test)]
mod tests {
    use super::turned;
    use quasistep_math::{Quat, Vec3};

    /// The angle between rotations is accurate, also for tiny angles.
    #[test]
    fn turned_angle_is_exact() {
        for angle in [1e-9, 0.1, 1.0, 3.0] {
            let q = Quat::from_axis_angle(Vec3::Y, angle).to_array();
            let got = turned(&[1.0, 0.0, 0.0, 0.0], &q).to_radians();
            // a few units of rounding in the chord
            assert!((got - angle).abs() < 1e-12, "{got} {angle}");
            let other = q.map(|c| -c);
            assert!((turned(&[1.0, 0.0, 0.0, 0.0], &other).to_radians() - angle).abs() < 1e-12);
        }
    }
}
