//! Worlds of everyday objects: the scenes of `tests/everyday`, scaled in size, mass and friction.

use crate::hard_problems::Random;
use std::path::PathBuf;

/// Scene files of `tests/everyday`, sorted. Each has lengths of about 1 m, masses of some 100 kg and the Earth's gravity.
///
/// # Panics
///
/// If the folder cannot be read.
pub fn files() -> Vec<PathBuf> {
    let folder = crate::root().join("testkit/tests/everyday");
    let entries = std::fs::read_dir(folder).expect("the checkout has this folder");
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files
}

/// Draws the world of a seed. Returns its name, which lists what was drawn, its scene, and keys of
/// the scene with their values.
///
/// The scene is chosen by the seed modulo the number of scenes. Size, mass, friction, cone,
/// relaxation time and step size are random.
///
/// # Panics
///
/// If the scenes cannot be read.
pub fn world(seed: u64) -> (String, String, Vec<(String, String)>) {
    let files = files();
    let path = &files[seed as usize % files.len()];
    let mut random = Random::new(seed);
    // lengths of 1 mm to 100 m, masses of a few grams to 10 t
    let scale = Scale {
        length: random.decade(-3.0, 2.0),
        mass: random.decade(-5.0, 1.0),
        friction: random.pick(&[0.2, 0.6, 1.0, 2.0]),
    };
    let cone = random.pick(&["round", "4", "8"]);
    let relaxation = random.pick(&["0.1", "1", "10"]);
    let size = random.pick(&["0.01", "0.05", "0.2"]);
    let text = std::fs::read_to_string(path).expect("a scene of the checkout");
    let kind = path.file_stem().expect("a name").to_string_lossy();
    let name = format!("{seed} {kind} {scale:?} cone {cone} relaxation {relaxation} size {size}");
    let changes = [("cone", cone), ("relaxation", relaxation), ("size", size)];
    let changes = changes.map(|(key, value)| (format!("step.{key}"), value.to_owned()));
    (name, scale.apply(&text), changes.to_vec())
}

/// Factors by which the numbers of a scene are multiplied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Factor of lengths and speeds.
    pub length: f64,
    /// Factor of masses. Stiffness is scaled so that the deflection of springs relative to lengths
    /// does not change.
    pub mass: f64,
    /// Factor of coefficients of friction.
    pub friction: f64,
}

impl Scale {
    /// Factor of the numbers of a key. `turns` is true for keys of a hinge.
    fn factor(self, key: &str, turns: bool) -> Option<f64> {
        let Self { length, mass, friction } = self;
        match key {
            "xyz" | "size" | "radius" | "length" | "contact_margin" | "max_overlap"
            | "max_recovery_speed" => Some(length),
            "values" if !turns => Some(length),
            "mass" => Some(mass),
            // the dry friction of a hinge is a torque
            "stiffness" | "friction" if turns => Some(mass * length),
            "stiffness" => Some(mass / length),
            "friction" => Some(friction),
            _ => None,
        }
    }

    /// Scales the numbers of a scene of `tests/everyday`, except its step size.
    pub fn apply(self, text: &str) -> String {
        let hinges: Vec<&str> = text.split("hinge: ").skip(1).filter_map(word).collect();
        text.lines().map(|line| self.apply_to_line(line, &hinges) + "\n").collect()
    }

    /// Scales the numbers of one line. `hinges` are the names of all hinges of the scene.
    fn apply_to_line(self, line: &str, hinges: &[&str]) -> String {
        if line.trim_start().starts_with("step:") {
            // the step size is a time and is not scaled
            let (head, tail) = line.split_once("contact_margin").unwrap_or((line, ""));
            return format!("{head}{}", self.apply_to_line(&format!("contact_margin{tail}"), &[]));
        }
        let commanded = line.split("joint: ").nth(1).and_then(|rest| rest.split([',', '}']).next());
        let mut turns =
            commanded.is_some_and(|name| hinges.contains(&name.rsplit('.').next().unwrap_or(name)));
        let mut out = String::new();
        let mut rest = line;
        while let Some((head, tail)) = rest.split_once(": ") {
            let key =
                head.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
            match key {
                "hinge" => turns = true,
                "slide" | "shape" => turns = false,
                _ => {}
            }
            out += head;
            out += ": ";
            let end = match tail.strip_prefix('[') {
                Some(list) => list.find(']').map_or(tail.len(), |end| end + 2),
                None => tail.find([',', '}']).unwrap_or(tail.len()),
            };
            match self.factor(key, turns) {
                Some(factor) => {
                    out += &multiplied(&tail[..end], factor);
                    rest = &tail[end..];
                }
                None => rest = tail,
            }
        }
        out + rest
    }
}

/// The first word of a text.
fn word(text: &str) -> Option<&str> {
    text.split([',', '}', ' ']).next()
}

/// A number, or a list of numbers, times a factor.
fn multiplied(value: &str, factor: f64) -> String {
    let one = |text: &str| match text.trim().parse::<f64>() {
        Ok(number) => format!("{:e}", number * factor),
        Err(_) => text.to_owned(),
    };
    match value.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
        Some(list) => format!("[{}]", list.split(',').map(one).collect::<Vec<_>>().join(", ")),
        None => one(value),
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, files};

    #[test]
    fn lengths_masses_and_stiffness_grow_together() {
        let scale = Scale { length: 0.1, mass: 2.0, friction: 0.5 };
        let text = "step: {size: 0.05, contact_margin: 0.2}\n  a: {mass: 3, friction: 0.5, joint: [{hinge: q, stiffness: 10}], shape: {box: {size: [1, 2, 3]}}}\n  b: {joint: [{slide: x, stiffness: 10}]}\n  - {joint: a.q, linear: {t: [0, 1], values: [0, 1]}}\n  - {joint: b.x, linear: {t: [0, 1], values: [0, 1]}}\n";
        let expected = "step: {size: 0.05, contact_margin: 2.0000000000000004e-2}\n  a: {mass: 6e0, friction: 2.5e-1, joint: [{hinge: q, stiffness: 2e0}], shape: {box: {size: [1e-1, 2e-1, 3.0000000000000004e-1]}}}\n  b: {joint: [{slide: x, stiffness: 2e2}]}\n  - {joint: a.q, linear: {t: [0, 1], values: [0, 1]}}\n  - {joint: b.x, linear: {t: [0, 1], values: [0e0, 1e-1]}}\n";
        assert_eq!(scale.apply(text), expected);
    }

    #[test]
    fn there_are_26_kinds() {
        assert_eq!(files().len(), 26);
    }
}
