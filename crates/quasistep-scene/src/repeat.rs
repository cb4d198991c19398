//! `repeat:` of a model: many copies that differ by expressions of their number.

use crate::document::{At, of_replica};
use crate::expr::is_reserved;
use crate::replica::Replica;
use quasistep_formats::SceneError;

/// More copies than this are a typing mistake.
const MOST: u64 = 10_000;
/// Seeds up to here are exact as numbers of YAML.
const MOST_SEED: u64 = 1 << 53;
/// Names of the places along the edges of a grid.
const GRID_NAMES: [&str; 3] = ["ix", "iy", "iz"];

/// `repeat:` of a model.
#[derive(Debug)]
pub(crate) struct Repeat<'a> {
    count: usize,
    /// Copies along each edge of a grid, whose product is the count; empty without one.
    edges: Vec<usize>,
    seed: u64,
    /// Names of the scene's own, each with the place of its expression, in file order.
    names: Vec<(&'a str, At<'a>)>,
}

impl<'a> Repeat<'a> {
    /// Reads `{count, seed, let}` or `{grid, seed, let}`.
    pub fn read(at: &At<'a>) -> Result<Self, SceneError> {
        let map = at.map(&["count", "grid", "seed", "let"])?;
        let (count, edges) = match (map.get("count"), map.get("grid")) {
            (Some(count), None) => (count.whole(1, MOST)?, Vec::new()),
            (None, Some(grid)) => read_grid(grid)?,
            (Some(_), Some(grid)) => {
                return Err(grid.error("`count` and `grid` were seen; give one of them"));
            }
            (None, None) => {
                return Err(at.error("neither `count` nor `grid` was seen; give one of them"));
            }
        };
        let seed = map.get("seed").map_or(Ok(0), |seed| seed.whole(0, MOST_SEED))?;
        let names = map.get("let").map_or(Ok(Vec::new()), At::entries)?;
        for (name, at) in &names {
            check_name(name, at)?;
        }
        Ok(Self { count: count as usize, edges, seed, names })
    }

    /// The copies of the model with this name, in order.
    pub fn replicas(&self, model: &str) -> impl Iterator<Item = Result<Replica, SceneError>> {
        (0..self.count).map(move |index| self.replica(model, index))
    }

    fn replica(&self, model: &str, index: usize) -> Result<Replica, SceneError> {
        let mut values = vec![("i".into(), index as f64), ("n".into(), self.count as f64)];
        let mut rest = index;
        for (name, edge) in GRID_NAMES.iter().zip(&self.edges) {
            values.push(((*name).to_owned(), (rest % edge) as f64));
            rest /= edge;
        }
        let name = format!("{model}_{index}");
        let mut replica = Replica { name, index, seed: self.seed, values };
        for (name, at) in &self.names {
            let value = of_replica(at, &replica).number("")?;
            replica.values.push(((*name).to_owned(), value));
        }
        Ok(replica)
    }
}

/// One to three numbers of copies, and their product.
fn read_grid(at: &At<'_>) -> Result<(u64, Vec<usize>), SceneError> {
    let items = at.list()?;
    if !(1..=GRID_NAMES.len()).contains(&items.len()) {
        return Err(at.error(format!(
            "{} numbers were seen; give the copies along x, or x and y, or x, y and z",
            items.len()
        )));
    }
    let edges: Vec<u64> = items.iter().map(|item| item.whole(1, MOST)).collect::<Result<_, _>>()?;
    // three factors of at most `MOST` do not overflow
    let count = edges.iter().product();
    if count > MOST {
        return Err(at.error(format!("{count} copies were seen; at most {MOST} are read")));
    }
    Ok((count, edges.into_iter().map(|edge| edge as usize).collect()))
}

/// A name of the scene's own must not hide one that has a meaning.
fn check_name(name: &str, at: &At<'_>) -> Result<(), SceneError> {
    let letters = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !letters {
        return Err(at.error(format!(
            "the name `{name}` was seen; give a letter, then letters, digits and `_`"
        )));
    }
    if is_reserved(name) || matches!(name, "i" | "n") || GRID_NAMES.contains(&name) {
        return Err(at.error(format!(
            "the name `{name}` was seen, which has a meaning of its own; give another one"
        )));
    }
    Ok(())
}
