//! Selection of a cloud's contact points.

#![allow(clippy::inline_always)] // see `quasistep_linalg::simd`

use super::choice::Choice;
use super::field::Field;
use super::frontier::Frontier;
use super::search::{Farthest, Found, Nearest, search};
use super::spread::{Patch, SAME};
use super::tie::{Rivals, TIE, Within};
use super::tree::Tree;
#[cfg(target_arch = "x86_64")]
use quasistep_linalg::simd::Avx2;
use quasistep_linalg::simd::{Isa, Portable, Simd};

/// Scratch memory of a selection; its contents do not affect results.
#[derive(Debug, Default)]
pub(crate) struct Chooser {
    pub found: Vec<Found>,
    frontier: Frontier,
    pub patch: Patch,
    /// Set to `Some(false)` to ask for tie detection, `None` to skip it. A selection sets it to
    /// `Some(true)` if a motion of [`TIE`] could change the selected points.
    pub tied: Option<bool>,
    rivals: Vec<u32>,
}

impl Chooser {
    /// Fills `found` with the selected points among those with a signed distance below `limit` (m).
    ///
    /// `far` is the distance from the tree's origin to the field's origin, in m. The rounding error
    /// grows with it.
    pub fn choose<F: Field>(
        &mut self,
        isa: Isa,
        tree: &Tree,
        field: &F,
        far: f64,
        choice: Choice,
        limit: f64,
    ) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2,fma")]
            fn avx2<F: Field>(
                this: &mut Chooser,
                tree: &Tree,
                field: &F,
                far: f64,
                choice: Choice,
                limit: f64,
            ) {
                this.body::<Avx2, F>(tree, field, far, choice, limit);
            }
            if isa.is_avx2() {
                // SAFETY: only `detect` makes such an `Isa`, on a machine that has both
                #[allow(unsafe_code)]
                return unsafe { avx2(self, tree, field, far, choice, limit) };
            }
        }
        let _ = isa;
        self.body::<Portable, F>(tree, field, far, choice, limit);
    }

    #[inline(always)]
    fn body<S: Simd, F: Field>(
        &mut self,
        tree: &Tree,
        field: &F,
        far: f64,
        choice: Choice,
        limit: f64,
    ) {
        // a few units of rounding of a coordinate this large
        let noise = 4.0 * f64::EPSILON * (tree.half_diagonal + far);
        let k = match choice {
            Choice::Nearest { k } => k as usize,
            Choice::Spread { .. } => 1,
        };
        let asked = self.tied.is_some();
        let one_more = usize::from(asked && matches!(choice, Choice::Nearest { .. }));
        self.found.clear();
        let k = k + one_more;
        let mut nearest = Nearest { limit, noise, k, found: &mut self.found };
        search::<S, _, _>(tree, field, &mut nearest);
        if one_more == 1 && self.found.len() == k && k > 1 {
            let next = self.found[k - 1].phi - self.found[k - 2].phi;
            self.found.pop();
            self.note(next <= 2.0 * TIE);
        }
        let (Choice::Spread { k }, Some(&deepest)) = (choice, self.found.first()) else { return };

        let normal = field.normal(tree.point(deepest.slot));
        let (u, w) = (normal.any_orthogonal(), normal.cross(normal.any_orthogonal()));
        // among equally deep points take the farthest along a fixed direction, so that rounding
        // does not choose; the direction is oblique because scans are often aligned with the axes
        let direction = u * 0.83 + w * 0.56;
        let same = limit.min(deepest.phi + SAME);
        let best = (f64::NEG_INFINITY, Some(deepest));
        let mut first = Farthest { direction, limit: same, noise, best };
        search::<S, _, _>(tree, field, &mut first);
        let first = first.best.1.unwrap_or(deepest);
        self.spread::<S, F>(tree, field, [first, deepest], normal, k, limit);
        if asked {
            self.compare_others::<S, F>(tree, field, [first, deepest], k, limit);
        }
    }

    /// Fills `found` with points that span the patch, beginning with the first one of the pair
    /// given. Also collects near ties of each choice if they are asked for.
    #[inline(always)]
    fn spread<S: Simd, F: Field>(
        &mut self,
        tree: &Tree,
        field: &F,
        [first, deepest]: [Found; 2],
        normal: quasistep_math::Vec3,
        k: u32,
        limit: f64,
    ) {
        let asked = self.tied.is_some();
        self.found.clear();
        self.found.push(first);
        self.patch.start(tree.point(first.slot), normal, deepest.phi, tree.half_diagonal);
        self.frontier.start(tree);
        self.rivals.clear();
        while self.found.len() < k as usize {
            let next = self.frontier.next::<S, F>(tree, field, &self.patch, limit);
            if asked {
                // compare upper bounds of the other gains with a lower bound of this one
                let bar = next.map_or(0.0, |next| {
                    self.patch.shifted(-TIE).gain_of(tree.point(next.slot), next.phi)
                });
                let patch = &self.patch.shifted(TIE);
                let (limit, found) = (limit + TIE, &mut self.rivals);
                let mut rivals = Rivals { patch, flat: F::FLAT, limit, bar, found };
                search::<S, _, _>(tree, field, &mut rivals);
            }
            let Some(next) = next else { return };
            self.patch.add(tree.point(next.slot), next.phi);
            self.found.push(next);
        }
    }

    /// Records in `tied` whether a near tie, or another first point among those that touch, would
    /// have led to other points.
    #[inline(always)]
    fn compare_others<S: Simd, F: Field>(
        &mut self,
        tree: &Tree,
        field: &F,
        [first, deepest]: [Found; 2],
        k: u32,
        limit: f64,
    ) {
        // other choices do not collect near ties
        let asked = self.tied.take();
        let chosen = self.found.clone();
        let is_chosen = |slot: u32| chosen.iter().any(|found| found.slot == slot);
        let mut tied = self.rivals.iter().any(|slot| !is_chosen(*slot));
        let mut touching = Vec::new();
        let most = 2 * k as usize;
        let level = limit.min(deepest.phi + SAME + TIE);
        search::<S, _, _>(tree, field, &mut Within { limit: level, most, found: &mut touching });
        tied |= touching.len() == most;
        for other in touching {
            if tied {
                break;
            }
            if other.slot != first.slot {
                let normal = field.normal(tree.point(other.slot));
                self.spread::<S, F>(tree, field, [other, deepest], normal, k, limit);
                tied = self.found.len() != chosen.len()
                    || !self.found.iter().all(|found| is_chosen(found.slot));
            }
        }
        self.found = chosen;
        self.tied = asked;
        self.note(tied);
    }

    fn note(&mut self, tied: bool) {
        if let Some(any) = &mut self.tied {
            *any |= tied;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PointCloud;
    use crate::cloud::field::{Motion, PlaneField};
    use crate::cloud::field_of_shape::{BOX, MirrorField};
    use crate::shape::Shape;
    use quasistep_math::{Pose, Quat, Vec3};

    /// A dented ellipsoid with hollow, flat and round parts.
    fn pebble(n: u32) -> PointCloud {
        let points: Vec<Vec3> = (0..n)
            .map(|i| {
                let z = 1.0 - 2.0 * (f64::from(i) + 0.5) / f64::from(n);
                let (s, c) = (2.399963229728653 * f64::from(i)).sin_cos();
                let r = (1.0 - z * z).sqrt() * (1.0 + 0.1 * (7.0 * z + 3.0 * s).sin());
                Vec3::new(0.06 * r * c, 0.05 * r * s, (0.04 * z).max(-0.03))
            })
            .collect();
        PointCloud::new(&points, None, 0.0, Choice::default()).unwrap()
    }

    fn poses() -> impl Iterator<Item = Pose> {
        (0..40).map(|i| {
            let t = f64::from(i);
            let turn = Vec3::new((1.7 * t).sin(), (2.3 * t).cos(), (0.9 * t).sin()) * (0.05 * t);
            Pose::new(Quat::from_rotation_vector(turn), Vec3::new(0.0, 0.001 * t, 0.03))
        })
    }

    /// Calls `f` with fields of a plane and of a box near the cloud, and the distance of each
    /// field's origin.
    fn each_field(
        cloud: &PointCloud,
        X_WC: &Pose,
        mut f: impl FnMut(&dyn Fn(&mut Chooser, Isa, Choice)),
    ) {
        let origin = cloud.tree.origin;
        let plane = PlaneField::new(&Pose::IDENTITY, X_WC, origin);
        f(&|chooser, isa, choice| chooser.choose(isa, &cloud.tree, &plane, 0.1, choice, 0.02));
        let shape = Shape::Box { half: [0.04, 0.01, 0.04] };
        let X_WS = Pose::from_translation(Vec3::new(0.0, 0.06, 0.02));
        let motion = Motion::new(&X_WS, X_WC, origin);
        let size = [0.04, 0.01, 0.04];
        let field = MirrorField::<BOX> { shape: &shape, motion, size };
        f(&|chooser, isa, choice| chooser.choose(isa, &cloud.tree, &field, 0.1, choice, 0.02));
    }

    /// The AVX2 and the portable version differ in rounding but select the same points.
    #[test]
    fn instructions_do_not_change_the_choice() {
        let mut chooser = Chooser::default();
        for n in [100, 3000] {
            let cloud = pebble(n);
            for X in poses() {
                each_field(&cloud, &X, |choose| {
                    for choice in [Choice::Nearest { k: 5 }, Choice::Spread { k: 5 }] {
                        choose(&mut chooser, Isa::PORTABLE, choice);
                        let plain = chooser.found.clone();
                        choose(&mut chooser, Isa::detect(), choice);
                        assert_eq!(plain.len(), chooser.found.len());
                        for (p, q) in plain.iter().zip(&chooser.found) {
                            assert!(
                                p.slot == q.slot && (p.phi - q.phi).abs() < 1e-15,
                                "{p:?} {q:?}"
                            );
                        }
                    }
                });
            }
        }
    }

    /// The frontier finds nearly the largest gain of all points. It may miss a larger one, because
    /// the gain uses lines around the hull, which underestimate distances near corners.
    #[test]
    fn frontier_finds_the_largest_gains() {
        let mut chooser = Chooser::default();
        let (mut steps, mut exact) = (0, 0);
        for n in [100, 3000] {
            let cloud = pebble(n);
            let tree = &cloud.tree;
            for X in poses() {
                let plane = PlaneField::new(&Pose::IDENTITY, &X, tree.origin);
                let choice = Choice::Spread { k: 6 };
                chooser.choose(Isa::detect(), tree, &plane, 0.1, choice, 0.02);
                let Some(first) = chooser.found.first() else { continue };
                let height = |slot: u32| plane.normal.dot(tree.point(slot)) + plane.offset;
                let deepest = (0..n).map(height).fold(f64::INFINITY, f64::min);
                let mut patch = Patch::default();
                patch.start(tree.point(first.slot), plane.normal, deepest, tree.half_diagonal);
                for next in &chooser.found[1..] {
                    let gain = |slot: u32| patch.gain_of(tree.point(slot), height(slot));
                    let near = (0..n).filter(|slot| height(*slot) < 0.02);
                    let most = near.map(gain).fold(0.0, f64::max);
                    let got = gain(next.slot);
                    // distances are at least 0.7 of those to the hull; gains scale with their power
                    // 3/2
                    assert!(got >= 0.58 * most, "{got} {most}");
                    steps += 1;
                    exact += i32::from(got > most * (1.0 - 1e-9));
                    patch.add(tree.point(next.slot), next.phi);
                }
            }
        }
        assert!(steps > 200 && exact * 10 > steps * 9, "{exact} of {steps}");
    }
}
