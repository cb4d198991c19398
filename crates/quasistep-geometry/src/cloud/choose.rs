//! Which points of a cloud stand for its contact with a shape.

#![allow(clippy::inline_always)] // see `simd`

use super::Choice;
use super::field::Field;
use super::frontier::Frontier;
use super::search::{Farthest, Found, Nearest, search};
#[cfg(target_arch = "x86_64")]
use super::simd::Avx2;
use super::simd::{Isa, Portable, Simd};
use super::spread::{Patch, SAME};
use super::tree::Tree;

/// Reusable memory of a choice; holds no meaning.
#[derive(Debug, Default)]
pub(crate) struct Chooser {
    pub found: Vec<Found>,
    frontier: Frontier,
    pub patch: Patch,
}

impl Chooser {
    /// Fills `found` with the chosen points among those nearer to the field's surface than `limit`.
    ///
    /// `far` is the distance from the tree's origin to that of the field, in m: rounding grows with it.
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
            if isa == Isa::Avx2 {
                // SAFETY: `Isa::Avx2` is only made by `detect`, on a machine that has both
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
        // a few roundings of numbers of this size
        let noise = 4.0 * f64::EPSILON * (tree.half_diagonal + far);
        let k = match choice {
            Choice::Nearest { k } => k as usize,
            Choice::Spread { .. } => 1,
        };
        self.found.clear();
        let mut nearest = Nearest { limit, noise, k, found: &mut self.found };
        search::<S, _, _>(tree, field, &mut nearest);
        let (Choice::Spread { k }, Some(&deepest)) = (choice, self.found.first()) else { return };

        let normal = field.normal(tree.point(deepest.slot));
        let (u, w) = (normal.any_orthogonal(), normal.cross(normal.any_orthogonal()));
        // of equally deep points always the same one, whatever rounding does: along no axis of a scan
        let direction = u * 0.83 + w * 0.56;
        let same = limit.min(deepest.phi + SAME);
        let best = (f64::NEG_INFINITY, Some(deepest));
        let mut first = Farthest { direction, limit: same, noise, best };
        search::<S, _, _>(tree, field, &mut first);
        let first = first.best.1.unwrap_or(deepest);
        self.found[0] = first;
        self.patch.start(tree.point(first.slot), normal, deepest.phi, tree.half_diagonal);
        self.frontier.start(tree);
        while self.found.len() < k as usize {
            let next = self.frontier.next::<S, F>(tree, field, &self.patch, limit);
            let Some(next) = next else { return };
            self.patch.add(tree.point(next.slot), next.phi);
            self.found.push(next);
        }
    }
}
