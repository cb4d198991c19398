//! `repeat:` of a model: copies that differ by expressions of the copy index.

use crate::document::{At, of_replica};
use crate::expr::is_reserved;
use crate::replica::Replica;
use quasistep_formats::SceneError;

/// Most copies; more are taken for a typing mistake.
const MOST: u64 = 10_000;
/// Largest seed: larger integers are not exact in YAML.
const MOST_SEED: u64 = 1 << 53;
/// Names of the indices along the edges of a grid.
const GRID_NAMES: [&str; 3] = ["ix", "iy", "iz"];

/// The `repeat:` mapping of a model.
#[derive(Debug)]
pub(crate) struct Repeat<'a> {
    count: usize,
    /// Number of copies along each edge of a grid; empty without a grid.
    edges: Vec<usize>,
    seed: u64,
    /// Names defined in `let`, each with its expression, in file order.
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

/// Total number of copies of a grid, and the numbers along its one to three edges.
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

/// Error if a name defined in `let` hides a predefined one.
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
