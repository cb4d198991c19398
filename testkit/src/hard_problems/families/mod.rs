//! Families of problems: bodies with realistic contact geometry in arrangements that are hard to
//! solve.

mod bodies;
mod geometry;
mod numbers;
mod world;

use super::{HardProblem, Random};
use bodies::{degenerate, massless, penetrating, stacked, wedged};
use numbers::{corners, cross_scales, mess};
use world::World;

/// What makes a problem hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Duplicates of a contact, a row or a face.
    Degenerate,
    /// Towers with mass ratios up to ten thousand.
    Stacked,
    /// A body between two walls, held or squeezed, with large friction.
    Wedged,
    /// Overlaps that must open: feasible, infeasible, or barely feasible.
    Penetrating,
    /// Bodies with 1e-10 to 1e-6 of the others' masses.
    NearlyMassless,
    /// Bodies without mass: held, loose, or pushed without resistance.
    Massless,
    /// Problems of the families above, with very different units of variables, rows and cost.
    CrossedScales,
    /// Random numbers everywhere.
    Mess,
    /// Empty problems, single variables, rows of zeros.
    Corners,
}

impl Family {
    /// Largest fraction of the family's problems with pyramids that may end without a solution.
    /// Where masses or units differ by a factor of a million, the last digits are indistinguishable
    /// from rounding.
    pub fn given_up_at_most(self) -> f64 {
        match self {
            Self::NearlyMassless => 0.1,
            Self::CrossedScales => 0.04,
            Self::Corners => 0.01,
            _ => 0.002,
        }
    }

    /// All families.
    pub const ALL: [Self; 9] = [
        Self::Degenerate,
        Self::Stacked,
        Self::Wedged,
        Self::Penetrating,
        Self::NearlyMassless,
        Self::Massless,
        Self::CrossedScales,
        Self::Mess,
        Self::Corners,
    ];

    /// Name of the family.
    pub fn name(self) -> &'static str {
        match self {
            Self::Degenerate => "degenerate",
            Self::Stacked => "stacked",
            Self::Wedged => "wedged",
            Self::Penetrating => "penetrating",
            Self::NearlyMassless => "nearly massless",
            Self::Massless => "massless",
            Self::CrossedScales => "crossed scales",
            Self::Mess => "mess",
            Self::Corners => "corners",
        }
    }

    /// Draws the problem of this family with this seed.
    pub fn draw(self, seed: u64) -> HardProblem {
        let mut random = Random::new(seed);
        if self == Self::CrossedScales {
            let of = random.pick(&Self::ALL[..6]);
            let mut problem = of.build(seed, &mut random);
            problem.family = self;
            cross_scales(&mut problem, &mut random);
            return problem;
        }
        self.build(seed, &mut random)
    }

    fn build(self, seed: u64, random: &mut Random) -> HardProblem {
        let mut world = World::new(self, seed, random);
        match self {
            Self::Degenerate => degenerate(&mut world),
            Self::Stacked => stacked(&mut world),
            Self::Wedged => wedged(&mut world),
            Self::Penetrating => penetrating(&mut world),
            Self::NearlyMassless => massless(&mut world, true),
            Self::Massless => massless(&mut world, false),
            Self::CrossedScales => unreachable!("built from the others"),
            Self::Mess => mess(&mut world),
            Self::Corners => corners(&mut world),
        }
        world.p
    }
}
