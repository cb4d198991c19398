//! Shapes that are a union of many convex pieces, of which those within reach are measured.

use crate::broad_phase::Aabb;
use crate::distance::ContactPoint;
use crate::polytope::Polytope;
use quasistep_math::Vec3;
use std::sync::Arc;

/// Tolerance for rounding: of the sine of an angle, or of a length relative to an edge of a piece.
pub(crate) const SAME: f64 = 1e-7;

/// Scratch memory of queries with shapes of many pieces; its contents do not affect results.
#[derive(Debug, Default)]
pub(crate) struct Ground {
    /// The piece that is measured, of each kind of shape.
    pub pieces: [Option<Arc<Polytope>>; 2],
    /// Points of one piece.
    pub of_piece: Vec<ContactPoint>,
    /// Points of all pieces, each with numbers of its normal and of the plane of the surface that it
    /// is over.
    pub points: Vec<([i64; 4], ContactPoint)>,
}

/// A shape made of convex pieces, in its own frame.
pub(crate) trait Pieces {
    /// Name of one piece.
    type Piece: Copy;
    /// Place in [`Ground::pieces`] of a piece of this kind of shape.
    const SLOT: usize;
    /// Number of first open faces in front of which nothing of their piece is near.
    const GUARDS: usize;

    /// Points nearer than this coincide, in m.
    fn near(&self) -> f64;

    /// A polytope that [`set`](Self::set) makes a piece.
    fn new_piece() -> Polytope;

    /// Moves the polytope to a piece.
    fn set(&self, hull: &mut Polytope, at: Self::Piece);

    /// Number of a piece, from 1.
    fn number(&self, at: Self::Piece) -> i64;

    /// A corner of the first open faces of a piece, in m.
    fn corner(&self, at: Self::Piece) -> Vec3;

    /// Calls `offer` with each corner of a piece, in m.
    fn for_each_corner(&self, at: Self::Piece, offer: impl FnMut(Vec3));

    /// Outward unit normals of those faces of a piece that are part of the surface.
    fn open_faces(&self, at: Self::Piece) -> impl Iterator<Item = Vec3>;

    /// The open face that stands in for a normal `n` that neighbours forbid. `separation` is how far
    /// the other shape is from a face along its normal, in m.
    fn face_towards(&self, at: Self::Piece, n: Vec3, separation: impl FnMut(Vec3) -> f64) -> Vec3;

    /// Calls `offer` with each piece that contains the point `p`, or whose faces are within `near`
    /// (m) of it.
    fn for_each_at(&self, p: Vec3, near: f64, offer: &mut dyn FnMut(Self::Piece));

    /// Calls `leaf` with the pieces of all blocks whose box passes `wanted`. Blocks with a smaller
    /// value of `wanted` come first; `None` leaves a block out, and so does a value above the least
    /// of `leaf` so far.
    fn search(
        &self,
        wanted: &mut dyn FnMut(&Aabb) -> Option<f64>,
        leaf: &mut dyn FnMut(Self::Piece) -> Option<f64>,
    );

    /// True if the whole shape is behind the plane with the normal `n` through its point `p`, near
    /// that point.
    fn permits(&self, p: Vec3, n: Vec3) -> bool {
        let (near, mut is_behind) = (self.near(), true);
        self.for_each_at(p, near, &mut |at| {
            self.for_each_corner(at, |q| {
                is_behind &= n.dot(q - p) <= SAME * (q - p).norm() + near;
            });
        });
        is_behind
    }
}
