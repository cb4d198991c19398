//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // frames in monogram notation: X_WB

mod accuracy;
mod allocation;
mod clouds;
mod coulomb;
mod coulomb_worlds;
mod dynamics;
mod everyday;
mod exact_stacking;
mod exact_steps;
mod fence;
mod first_physics;
mod gripper;
mod hard_problems;
mod lemke;
mod near_steps;
mod oracle;
mod pinch;
mod pushes;
mod resume;
mod rows;
mod scenes;
mod seams;
mod stacking;
mod swept;
mod symmetry;
mod theorem_1;
mod torsion;
mod work;

/// Counts the calls of each thread for the tests of allocations.
#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
