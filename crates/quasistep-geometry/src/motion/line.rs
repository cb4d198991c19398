//! Derivatives at the ends of the stretch that two nearly parallel straight lines (edges or capsule
//! axes) share.
//!
//! An end is fixed to its own body. Opposite to it is the point of the other line with the same
//! coordinate along `u`, the first line's direction projected across the contact normal. See
//! [`crate::line_patch::along`].

use super::map::{Change, ContactMotion};
use super::patch::HERE;
use crate::core::Core;
use crate::distance::ContactPoint;
use crate::line_patch::{Line, facing_edge};
use crate::patch::SAME;
use quasistep_math::Vec3;

/// Feature flag of an end of a shared stretch; the bits below say which end.
const END: u32 = 0x8000;
const WHICH: u32 = 0x3;

/// Derivatives of an end of the stretch that two lines share, given the normal's derivative.
/// `of_lines` is true if the normal depends on the two lines alone. `None` if the point is not such
/// an end.
pub(super) fn motion(
    a: &Core,
    b: &Core,
    point: &ContactPoint,
    of_lines: bool,
    d_normal: impl Fn(Vec3, Vec3) -> Vec3,
) -> Option<ContactMotion> {
    let (n, end) = (point.n_AB_W, point.feature & WHICH);
    let (a, b) = (facing_edge(a, n)?, facing_edge(b, -n)?);
    if point.feature != END | (a.id & 0xff) << 16 | (b.id & 0xff) << 24 | end {
        return None;
    }
    let stretch = Stretch::find(&a, &b, end as usize, n)?;
    let middle = stretch.pa + n * a.radius + stretch.beside * 0.5;
    if (middle - point.p_WCa).max_abs() > HERE {
        return None;
    }
    let motion = ContactMotion::of(|w, v| stretch.change(point, w, v, d_normal(w, v)));
    // all points of parallel lines are nearest; a rotation makes one of the ends the nearest
    let (da, db) = (a.ends[1] - a.ends[0], b.ends[1] - b.ends[0]);
    let parallel = da.cross(db).norm() <= SAME * da.norm().max(db.norm());
    // sharp edges that touch along their length separate to either side
    let touch = stretch.apart.hypot(stretch.beside.norm()) <= SAME;
    Some(ContactMotion { kink: of_lines && parallel || touch, ..motion })
}

/// One end, and the point of the other line opposite to it.
struct Stretch {
    n: Vec3,
    /// Direction vectors of the lines, not normalised.
    da: Vec3,
    db: Vec3,
    /// Unit direction of the first line projected across the normal, and the length of that
    /// projection.
    u: Vec3,
    across: f64,
    end_is_a: bool,
    pa: Vec3,
    pb: Vec3,
    gap: f64,
    /// Offset of the lines across `n` and `u` at this end, in m.
    beside: Vec3,
    /// Distance of the centres of curvature of the two surfaces, in m.
    apart: f64,
    radius: f64,
}

impl Stretch {
    fn find(a: &Line, b: &Line, end: usize, n: Vec3) -> Option<Self> {
        let (da, db) = (a.ends[1] - a.ends[0], b.ends[1] - b.ends[0]);
        let flat = da - n * da.dot(n);
        let u = flat.try_normalize()?;
        let level = |line: &Line, d: Vec3, p: Vec3| {
            line.ends[0] + d * ((p - line.ends[0]).dot(u) / d.dot(u))
        };
        let (pa, pb) = if end < 2 {
            (a.ends[end], level(b, db, a.ends[end]))
        } else {
            (level(a, da, b.ends[end - 2]), b.ends[end - 2])
        };
        let d = pb - pa;
        let gap = d.dot(n) - a.radius - b.radius;
        let beside = d - n * d.dot(n);
        let apart = a.round + b.round + gap.max(0.0);
        let (across, radius) = (flat.norm(), a.radius);
        let end_is_a = end < 2;
        (pa - pb).is_finite().then_some(Self {
            n,
            da,
            db,
            u,
            across,
            end_is_a,
            pa,
            pb,
            gap,
            beside,
            apart,
            radius,
        })
    }

    fn change(&self, point: &ContactPoint, w: Vec3, v: Vec3, dn: Vec3) -> Change {
        let Self { n, da, db, u, pa, pb, .. } = *self;
        let at = |p: Vec3| v + w.cross(p - point.p_WCb);
        // A and its line are held fixed
        let turned = -(dn * da.dot(n)) - n * da.dot(dn);
        let du = (turned - u * u.dot(turned)) * (1.0 / self.across);
        let (dpa, dpb) = if self.end_is_a {
            let carried = at(pb);
            (Vec3::ZERO, carried - db * ((u.dot(carried) + (pb - pa).dot(du)) / db.dot(u)))
        } else {
            let carried = at(pb);
            (da * ((u.dot(carried) - (pa - pb).dot(du)) / da.dot(u)), carried)
        };
        let (d, dd) = (pb - pa, dpb - dpa);
        let dgap = dd.dot(n) + d.dot(dn);
        let dbeside = dd - dn * d.dot(n) - n * dgap;
        let dapart = if self.gap > 0.0 { dgap } else { 0.0 };
        let slant = self.apart.hypot(self.beside.norm());
        let dslant = if slant > 0.0 {
            (self.apart * dapart + self.beside.dot(dbeside)) / slant
        } else {
            0.0
        };
        let dphi = dgap + dslant - dapart;
        let a = dpa + dn * self.radius + dbeside * 0.5;
        Change { phi: dphi, n: dn, a, b: a + dn * point.phi + n * dphi }
    }
}
