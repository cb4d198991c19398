//! Ends of the stretch that two straight lines share: an edge or a capsule's axis along another one.
//!
//! An end stays with its own body; across from it stands the point of the other line at the same place along `u`, the
//! first line's direction across the contact normal. See [`crate::line_patch::along`].

use super::map::{Change, ContactMotion};
use super::patch::HERE;
use crate::core::Core;
use crate::distance::ContactPoint;
use crate::line_patch::{Line, facing_edge};
use crate::patch::SAME;
use quasistep_math::Vec3;

/// Mark of such an end in a feature, and the bits of which end it is.
const END: u32 = 0x8000;
const WHICH: u32 = 0x3;

/// How such an end moves, given how the normal does, and whether that is the normal of the two lines alone; `None` if
/// the point is none.
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
    // lines that are parallel are nearest at any of their points: a tilt takes the normal to that of either end
    let (da, db) = (a.ends[1] - a.ends[0], b.ends[1] - b.ends[0]);
    let parallel = da.cross(db).norm() <= SAME * da.norm().max(db.norm());
    // and sharp ones that touch all along part to either side
    let touch = stretch.apart.hypot(stretch.beside.norm()) <= SAME;
    Some(ContactMotion { kink: of_lines && parallel || touch, ..motion })
}

/// One end, and the point across from it.
struct Stretch {
    n: Vec3,
    /// Directions of the lines, not of unit length.
    da: Vec3,
    db: Vec3,
    /// The first line's direction across the normal, unit, and the length of what it is of.
    u: Vec3,
    across: f64,
    end_is_a: bool,
    pa: Vec3,
    pb: Vec3,
    gap: f64,
    /// How the lines pass one another at this place.
    beside: Vec3,
    /// Distance of the centres about which the surfaces are round.
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
        // A and its line are still
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
