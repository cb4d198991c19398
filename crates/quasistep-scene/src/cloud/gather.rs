//! Point buffer and checks shared by all readers of point files.

use quasistep_math::Vec3;
use quasistep_mesh::{Fault, Place, ply};

/// Most points of a cloud. Loading takes 100 bytes each, and some seconds in total.
pub(crate) const MOST_POINTS: usize = 10_000_000;

/// Points of a file, in the file's frame and unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FilePoints {
    /// Finite positions, at least one.
    pub points: Vec<Vec3>,
    /// Unit normals, one per point, if the file has them and they were wanted.
    pub normals: Option<Vec<Vec3>>,
    /// Index in the file, from 0, of each point.
    pub rows: Vec<u32>,
    /// Number of points in the file.
    pub n_read: usize,
    /// Number of points left out because a coordinate is not finite.
    pub n_invalid: usize,
}

/// Options of the readers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Read normals if present.
    pub normals: bool,
    /// Leave out points that are not finite, instead of refusing the file.
    pub drop_invalid: bool,
}

/// Points collected while a file is read.
pub(super) struct Gather {
    options: Options,
    found: FilePoints,
    normals: Vec<Vec3>,
    /// The first normal of length zero: its place in the file, and the index of its point.
    no_direction: Option<(Place, usize)>,
}

/// Message about a file with too many points.
pub(super) fn too_many() -> String {
    format!("more than {MOST_POINTS} points were seen, which are read; thin the cloud out")
}

impl ply::Rows for Gather {
    fn wants_normals(&self) -> bool {
        Self::wants_normals(self)
    }

    fn reserve(&mut self, count: usize, normals: bool) {
        Self::reserve(self, count, normals);
    }

    fn vertex(&mut self, vertex: &ply::Vertex, place: &dyn Fn() -> Place) -> Result<(), Fault> {
        self.push(vertex.point, vertex.normal, place)
    }
}

impl Gather {
    pub fn new(options: Options) -> Self {
        Self { options, found: FilePoints::default(), normals: Vec::new(), no_direction: None }
    }

    /// True if normals are wanted.
    pub fn wants_normals(&self) -> bool {
        self.options.normals
    }

    /// Reserves memory. The caller must have checked `count` against the length of the file.
    pub fn reserve(&mut self, count: usize, normals: bool) {
        let count = count.min(MOST_POINTS);
        self.found.points.reserve_exact(count);
        self.found.rows.reserve_exact(count);
        if normals && self.options.normals {
            self.normals.reserve_exact(count);
        }
    }

    /// Number of points read so far.
    pub fn n_read(&self) -> usize {
        self.found.n_read
    }

    /// Adds the next point of the file. Either all points have a normal, or none.
    pub fn push(
        &mut self,
        point: [f64; 3],
        normal: Option<[f64; 3]>,
        place: impl Fn() -> Place,
    ) -> Result<(), Fault> {
        let number = self.found.n_read;
        if number == MOST_POINTS {
            return Err(Fault::new(place(), too_many()));
        }
        self.found.n_read += 1;
        let normal = normal.filter(|_| self.options.normals);
        let point = Vec3::from(point);
        let direction = normal.map(Vec3::from);
        if !point.is_finite() || direction.is_some_and(|n| !n.is_finite()) {
            if self.options.drop_invalid {
                self.found.n_invalid += 1;
                return Ok(());
            }
            let (what, [x, y, z]) = match direction {
                Some(n) if point.is_finite() => ("the normal of point", n.to_array()),
                _ => ("point", point.to_array()),
            };
            return Err(Fault::new(
                place(),
                format!(
                    "{what} {number} (counted from 0) is ({x}, {y}, {z}); all numbers must be \
                     finite, or give `drop_invalid: true` to leave such points out"
                ),
            ));
        }
        if let Some(n) = direction {
            let unit = n.try_normalize();
            if unit.is_none() && self.no_direction.is_none() {
                self.no_direction = Some((place(), number));
            }
            self.normals.push(unit.unwrap_or(Vec3::ZERO));
        }
        self.found.points.push(point);
        self.found.rows.push(number as u32);
        Ok(())
    }

    /// Returns the points after the file is read.
    pub fn finish(mut self) -> Result<FilePoints, Fault> {
        if self.found.n_read == 0 {
            return Err(Fault::whole("has no point; at least one is needed"));
        }
        if self.found.points.is_empty() {
            let n = self.found.n_read;
            return Err(Fault::whole(format!("none of its {n} points is finite")));
        }
        // normals that are all zero count as missing: some programs write them so
        let any = self.normals.iter().any(|n| *n != Vec3::ZERO);
        if let (true, Some((place, number))) = (any, self.no_direction) {
            return Err(Fault::new(
                place,
                format!(
                    "the normal of point {number} (counted from 0) is zero; give `normals: none` \
                     to do without the file's"
                ),
            ));
        }
        self.found.normals = any.then_some(self.normals);
        Ok(self.found)
    }
}
