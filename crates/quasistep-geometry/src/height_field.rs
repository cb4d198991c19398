//! A height field: solid ground below heights on a rectangular grid.
//!
//! The grid lies in the plane z = 0, centred at the origin. Each cell has two triangles, divided by
//! its diagonal from the corner of smallest x and y to that of largest x and y. The solid is
//! everything between the triangles and a flat bottom: two prisms a cell.
//!
//! Highest points of cells, of 2 × 2 cells, of 4 × 4 cells, … form a pyramid, with which a search
//! leaves out all cells that are too low.

use crate::broad_phase::Aabb;
use crate::distance::{Surface, TOUCH};
use crate::pieces::{Pieces, SAME};
use crate::polytope::Polytope;
use crate::triangle::{nearest_of_triangle, unit_normal};
use quasistep_math::Vec3;

/// Largest number of points of a height field.
const MOST_POINTS: usize = 1 << 26;

/// A height field is not valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct HeightFieldError(String);

/// One of the two prisms of a cell: `half` is 0 for the one at larger x, 1 for that at larger y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prism {
    pub i: usize,
    pub j: usize,
    pub half: usize,
}

/// Highest points of blocks of cells, in m.
#[derive(Clone, Debug, PartialEq)]
struct Level {
    /// Number of blocks along x and y.
    n: [usize; 2],
    high: Vec<f64>,
}

/// Ground below heights on a rectangular grid, in its own frame.
#[derive(Clone, Debug, PartialEq)]
pub struct HeightField {
    /// Number of points along x and y.
    n: [usize; 2],
    /// Edges of a cell along x and y, in m.
    step: [f64; 2],
    /// Height of each point, in m: x varies fastest.
    heights: Vec<f64>,
    /// z of the bottom, in m.
    bottom: f64,
    lowest: f64,
    levels: Vec<Level>,
}

impl HeightField {
    /// Builds a height field.
    ///
    /// `n` is the number of points along x and y, `size` their extent in m, `heights` has the z of
    /// each point in m, with x varying fastest, and `base` is the thickness of the ground below the
    /// lowest point, in m.
    ///
    /// # Errors
    ///
    /// A message that says which value was seen and what is valid.
    pub fn new(
        n: [usize; 2],
        size: [f64; 2],
        heights: Vec<f64>,
        base: f64,
    ) -> Result<Self, HeightFieldError> {
        let fail = |why: String| Err(HeightFieldError(why));
        if n[0] < 2 || n[1] < 2 {
            return fail(format!("{} × {} heights; give at least 2 × 2", n[1], n[0]));
        }
        let count = n[0].checked_mul(n[1]).filter(|count| *count <= MOST_POINTS);
        if count != Some(heights.len()) {
            return fail(format!(
                "{} heights for {} rows of {}; give rows × columns of them, at most {MOST_POINTS}",
                heights.len(),
                n[1],
                n[0]
            ));
        }
        for (what, value) in [("size along x", size[0]), ("size along y", size[1]), ("base", base)]
        {
            if !(value > 0.0 && value.is_finite()) {
                return fail(format!("{what} is {value} m; it must be > 0 and finite"));
            }
        }
        if let Some(k) = heights.iter().position(|z| !z.is_finite()) {
            let (row, column) = (k / n[0], k % n[0]);
            let why = format!("height {} in row {row}, column {column}", heights[k]);
            return fail(format!("{why}; heights must be finite numbers, in m"));
        }
        let lowest = heights.iter().copied().fold(f64::INFINITY, f64::min);
        let step = [0, 1].map(|k| size[k] / (n[k] - 1) as f64);
        let mut field =
            Self { n, step, heights, bottom: lowest - base, lowest, levels: Vec::new() };
        field.build_levels();
        Ok(field)
    }

    fn build_levels(&mut self) {
        let n = self.n.map(|n| n - 1);
        let mut high = Vec::with_capacity(n[0] * n[1]);
        for j in 0..n[1] {
            for i in 0..n[0] {
                let z = |i: usize, j: usize| self.heights[j * self.n[0] + i];
                high.push(z(i, j).max(z(i + 1, j)).max(z(i, j + 1)).max(z(i + 1, j + 1)));
            }
        }
        self.levels.push(Level { n, high });
        while let Some(last) = self.levels.last().filter(|last| last.high.len() > 1) {
            let n = last.n.map(|n| n.div_ceil(2));
            let mut high = vec![f64::NEG_INFINITY; n[0] * n[1]];
            for (k, z) in last.high.iter().enumerate() {
                let (i, j) = (k % last.n[0], k / last.n[0]);
                let block = &mut high[j / 2 * n[0] + i / 2];
                *block = block.max(*z);
            }
            self.levels.push(Level { n, high });
        }
    }

    /// Number of points along x and y.
    pub fn n(&self) -> [usize; 2] {
        self.n
    }

    /// Extent along x and y, in m.
    pub fn size(&self) -> [f64; 2] {
        [0, 1].map(|k| self.step[k] * (self.n[k] - 1) as f64)
    }

    /// Height of each point, in m, with x varying fastest.
    pub fn heights(&self) -> &[f64] {
        &self.heights
    }

    /// Thickness of the ground below the lowest point, in m.
    pub fn base(&self) -> f64 {
        self.lowest - self.bottom
    }

    /// Corners (m) and triangles of the whole solid, counter-clockwise seen from outside: the ground
    /// first, then its sides and its bottom. Of more than `most` points along an axis some are left
    /// out.
    pub fn mesh(&self, most: usize) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let lines = |n: usize| -> Vec<usize> {
            let stride = (n - 1).div_ceil(most.max(2) - 1);
            (0..n - 1).step_by(stride).chain([n - 1]).collect()
        };
        let [columns, rows] = self.n.map(lines);
        let (nx, ny) = (columns.len(), rows.len());
        let mut corners: Vec<Vec3> =
            rows.iter().flat_map(|&j| columns.iter().map(move |&i| self.corner(i, j))).collect();
        let mut triangles = Vec::with_capacity(2 * nx * ny);
        for j in 0..ny - 1 {
            for i in 0..nx - 1 {
                let [a, b, c, d] = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
                    .map(|(i, j)| (j * nx + i) as u32);
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        // corners of the outline, counter-clockwise seen from above
        let outline: Vec<u32> = (0..nx - 1)
            .chain((0..ny - 1).map(|j| j * nx + nx - 1))
            .chain((1..nx).rev().map(|i| (ny - 1) * nx + i))
            .chain((1..ny).rev().map(|j| j * nx))
            .map(|k| k as u32)
            .collect();
        let first = corners.len() as u32;
        for &k in &outline {
            corners.push(Vec3 { z: self.bottom, ..corners[k as usize] });
        }
        let m = outline.len() as u32;
        for k in 0..m {
            let next = (k + 1) % m;
            let (u, w) = (outline[k as usize], outline[next as usize]);
            triangles.extend([[u, first + k, first + next], [u, first + next, w]]);
        }
        // the bottom has four corners
        let [x, y] = [nx as u32 - 1, ny as u32 - 1];
        let [a, b, c, d] = [0, x, x + y, 2 * x + y].map(|k| first + k);
        triangles.extend([[a, c, b], [a, d, c]]);
        (corners, triangles)
    }

    /// A point of the grid, in m.
    fn corner(&self, i: usize, j: usize) -> Vec3 {
        let [x, y] = [(i, 0), (j, 1)].map(|(at, k)| self.place(at, k));
        Vec3::new(x, y, self.heights[j * self.n[0] + i])
    }

    /// Coordinate along axis `k` of the grid line `at`, in m.
    fn place(&self, at: usize, k: usize) -> f64 {
        // twice the distance from the middle is a whole number: both sides are mirror images
        (2.0 * at as f64 - (self.n[k] - 1) as f64) * (0.5 * self.step[k])
    }

    /// Corners of a prism on the ground, in m, counter-clockwise seen from above.
    fn ground(&self, prism: Prism) -> [Vec3; 3] {
        let Prism { i, j, half } = prism;
        let far = self.corner(i + 1, j + 1);
        if half == 0 {
            [self.corner(i, j), self.corner(i + 1, j), far]
        } else {
            [self.corner(i, j), far, self.corner(i, j + 1)]
        }
    }

    /// Outward unit normals of those sides of a prism that are at the border; side `k` follows corner
    /// `k` of the ground.
    fn open_sides(&self, Prism { i, j, half }: Prism) -> [Option<Vec3>; 3] {
        let [last_i, last_j] = self.n.map(|n| n - 2);
        if half == 0 {
            [(j == 0).then_some(-Vec3::Y), (i == last_i).then_some(Vec3::X), None]
        } else {
            [None, (j == last_j).then_some(Vec3::Y), (i == 0).then_some(-Vec3::X)]
        }
    }

    /// Indices of the cells along axis `k` that contain a coordinate or are within `near` (m) of it.
    fn cells_at(&self, at: f64, k: usize, near: f64) -> std::ops::RangeInclusive<usize> {
        let half = 0.5 * (self.n[k] - 1) as f64;
        let index = |at: f64| {
            // a cast of a negative number or NaN is zero
            ((at / self.step[k] + half).floor() as usize).min(self.n[k] - 2)
        };
        index(at - near)..=index(at + near)
    }

    /// Calls `leaf` with the cells of all blocks whose box passes `wanted`, which gets the box around
    /// the solid below the block, in m. Blocks with a smaller value of `wanted` come first; `None`
    /// leaves a block out.
    fn search_cells(
        &self,
        wanted: &mut dyn FnMut(&Aabb) -> Option<f64>,
        leaf: &mut dyn FnMut([usize; 2]) -> Option<f64>,
    ) {
        let mut least = f64::INFINITY;
        self.visit(self.levels.len() - 1, [0, 0], &mut least, wanted, leaf);
    }

    fn visit(
        &self,
        level: usize,
        [i, j]: [usize; 2],
        least: &mut f64,
        wanted: &mut dyn FnMut(&Aabb) -> Option<f64>,
        leaf: &mut dyn FnMut([usize; 2]) -> Option<f64>,
    ) {
        if level == 0 {
            if let Some(value) = leaf([i, j]) {
                *least = least.min(value);
            }
            return;
        }
        let below = &self.levels[level - 1].n;
        let mut children = [(f64::INFINITY, [0, 0]); 4];
        let mut count = 0;
        for (di, dj) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let at = [2 * i + di, 2 * j + dj];
            if at[0] < below[0]
                && at[1] < below[1]
                && let Some(value) = wanted(&self.block(level - 1, at))
            {
                children[count] = (value, at);
                count += 1;
            }
        }
        children[..count].sort_by(|x, y| x.0.total_cmp(&y.0));
        for &(value, at) in &children[..count] {
            if value <= *least {
                self.visit(level - 1, at, least, wanted, leaf);
            }
        }
    }

    /// Box around the solid below a block of cells, in m.
    fn block(&self, level: usize, [i, j]: [usize; 2]) -> Aabb {
        let end = |at: usize, k: usize| ((at + 1) << level).min(self.n[k] - 1);
        let Level { n, high } = &self.levels[level];
        let min = Vec3::new(self.place(i << level, 0), self.place(j << level, 1), self.bottom);
        let max = Vec3::new(self.place(end(i, 0), 0), self.place(end(j, 1), 1), high[j * n[0] + i]);
        Aabb { min, max }
    }

    /// Box around the whole solid, in m.
    pub(crate) fn bounds(&self) -> Aabb {
        self.block(self.levels.len() - 1, [0, 0])
    }

    /// The farthest point along `d` of the solid below those cells that are within the box `within`,
    /// in m. `None` if there are no such cells.
    pub fn support_within(&self, d: Vec3, within: &Aabb) -> Option<Vec3> {
        let mut best: Option<(f64, Vec3)> = None;
        let farthest = |b: &Aabb| {
            let end = |k: usize| if d[k] < 0.0 { b.min[k] } else { b.max[k] };
            Vec3::new(end(0), end(1), end(2)).dot(d)
        };
        let beside =
            |b: &Aabb| (0..2).any(|k| b.max[k] < within.min[k] || b.min[k] > within.max[k]);
        self.search_cells(&mut |b| (!beside(b)).then(|| -farthest(b)), &mut |[i, j]| {
            for (i, j) in [(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)] {
                let p = self.corner(i, j);
                let p = if d.z < 0.0 { Vec3 { z: self.bottom, ..p } } else { p };
                let value = p.dot(d);
                if best.is_none_or(|(known, _)| value > known) {
                    best = Some((value, p));
                }
            }
            best.map(|(value, _)| -value)
        });
        best.map(|(_, p)| p)
    }

    /// Distance between the nearest two parallel planes that enclose the thinnest part of the ground
    /// or its whole extent, in m.
    pub(crate) fn thickness(&self) -> f64 {
        self.size().into_iter().fold(self.base(), f64::min)
    }

    /// Signed distance of the point `p` from the surface, and the normal there.
    pub(crate) fn surface(&self, p: Vec3) -> Surface {
        let mut is_inside = false;
        self.for_each_at(p, 0.0, &mut |_| is_inside = true);
        let whole = self.bounds();
        let foot = Vec3 { z: self.bottom, ..p.max(whole.min).min(whole.max) };
        let mut best = (p - foot, -Vec3::Z);
        let gap = |b: &Aabb| (p - p.max(b.min).min(b.max)).norm_squared();
        self.search_cells(&mut |b| Some(gap(b)), &mut |cell| {
            self.for_each_open_triangle(cell, |corners| {
                let apart = p - nearest_of_triangle(p, &corners);
                if apart.norm_squared() < best.0.norm_squared() {
                    best = (apart, unit_normal(&corners));
                }
            });
            Some(best.0.norm_squared())
        });
        let (apart, out) = best;
        let distance = apart.norm();
        match apart.try_normalize() {
            // nearly touching points give a noisy normal; the face's normal is accurate
            Some(n) if distance > TOUCH => {
                let sign = if is_inside { -1.0 } else { 1.0 };
                Surface { distance: distance * sign, normal: n * sign }
            }
            _ => Surface { distance: apart.dot(out), normal: out },
        }
    }

    /// Calls `offer` with the corners of the triangles of a cell's ground and of its sides at the
    /// border, in m, counter-clockwise seen from outside.
    fn for_each_open_triangle(&self, [i, j]: [usize; 2], mut offer: impl FnMut([Vec3; 3])) {
        let down = |p: Vec3| Vec3 { z: self.bottom, ..p };
        for half in 0..2 {
            let prism = Prism { i, j, half };
            let ground = self.ground(prism);
            offer(ground);
            for (k, _) in self.open_sides(prism).iter().enumerate().filter(|(_, n)| n.is_some()) {
                let [u, w] = [ground[k], ground[(k + 1) % 3]];
                offer([u, down(u), down(w)]);
                offer([u, down(w), w]);
            }
        }
    }
}

impl Pieces for HeightField {
    type Piece = Prism;
    const SLOT: usize = 0;
    const GUARDS: usize = 1;

    fn near(&self) -> f64 {
        let [x, y] = self.step;
        SAME * (x + y)
    }

    fn new_piece() -> Polytope {
        Polytope::new_prism()
    }

    fn set(&self, hull: &mut Polytope, at: Prism) {
        hull.set_prism(&self.ground(at), self.bottom);
    }

    fn number(&self, Prism { i, j, half }: Prism) -> i64 {
        (2 * (j * self.n[0] + i) + half + 1) as i64
    }

    fn corner(&self, at: Prism) -> Vec3 {
        self.ground(at)[0]
    }

    fn for_each_corner(&self, at: Prism, mut offer: impl FnMut(Vec3)) {
        for q in self.ground(at) {
            offer(q);
            offer(Vec3 { z: self.bottom, ..q });
        }
    }

    /// The ground comes first, then the bottom.
    fn open_faces(&self, at: Prism) -> impl Iterator<Item = Vec3> {
        let sides = self.open_sides(at).into_iter().flatten();
        [unit_normal(&self.ground(at)), -Vec3::Z].into_iter().chain(sides)
    }

    /// The open face that faces along `n` most. The ground comes before the bottom unless `n` points
    /// down.
    fn face_towards(&self, at: Prism, n: Vec3, _: impl FnMut(Vec3) -> f64) -> Vec3 {
        let mut faces = self.open_faces(at);
        let ground = faces.next().unwrap_or(Vec3::Z);
        let is_wanted = |face: &Vec3| face.z == 0.0 || n.z < -0.5;
        faces.filter(is_wanted).fold(
            ground,
            |best, face| {
                if face.dot(n) > best.dot(n) { face } else { best }
            },
        )
    }

    fn for_each_at(&self, p: Vec3, near: f64, offer: &mut dyn FnMut(Prism)) {
        if p.z < self.bottom - near {
            return;
        }
        for j in self.cells_at(p.y, 1, near) {
            for i in self.cells_at(p.x, 0, near) {
                for half in 0..2 {
                    let prism = Prism { i, j, half };
                    let [a, b, c] = self.ground(prism);
                    let beside = |u: Vec3, w: Vec3| {
                        let along = Vec3::new(w.x - u.x, w.y - u.y, 0.0);
                        let across = (p - u).cross(along).z;
                        across > near * along.norm()
                    };
                    let above = || (p - a).dot(unit_normal(&[a, b, c])) > near;
                    if !(beside(a, b) || beside(b, c) || beside(c, a) || above()) {
                        offer(prism);
                    }
                }
            }
        }
    }

    fn search(
        &self,
        wanted: &mut dyn FnMut(&Aabb) -> Option<f64>,
        leaf: &mut dyn FnMut(Prism) -> Option<f64>,
    ) {
        self.search_cells(wanted, &mut |[i, j]| {
            let least = |half| leaf(Prism { i, j, half });
            [0, 1].map(least).into_iter().flatten().reduce(f64::min)
        });
    }
}
