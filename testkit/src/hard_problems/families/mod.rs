//! The families of problems: bodies with contacts of real geometry, in hard arrangements.

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
    /// One contact, row or face many times over.
    Degenerate,
    /// Towers with masses up to ten thousand times apart.
    Stacked,
    /// A body between two walls, held or squeezed, with much friction.
    Wedged,
    /// Overlaps that must open: with room, without, and with room for a hair.
    Penetrating,
    /// Bodies of 1e-10 to 1e-6 of the others' masses.
    NearlyMassless,
    /// Bodies without mass: held, loose, or pushed away without end.
    Massless,
    /// Any of the above, with units of variables, rows and cost far apart.
    CrossedScales,
    /// Random numbers everywhere.
    Mess,
    /// Nothing, one variable, rows of zeros.
    Corners,
}

impl Family {
    /// Share of the family's problems with pyramids that may end without an answer: where masses or units
    /// are a million apart, the last digits of an answer cannot be told from rounding.
    pub fn given_up_at_most(self) -> f64 {
        match self {
            Self::NearlyMassless => 0.1,
            Self::CrossedScales => 0.04,
            Self::Corners => 0.01,
            _ => 0.002,
        }
    }

    /// All of them.
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

    /// Its name.
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

    /// The problem of this family with this seed.
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
