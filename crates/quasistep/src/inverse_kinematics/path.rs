//! Paths of many targets, continuous in the joints.

use super::answer::{IkError, IkSettings};
use super::search::Search;
use super::target::FrameTarget;
use crate::System;
use quasistep_math::Pose;
use quasistep_model::Frame;

/// Largest piece of a straight path that is taken at once, as a share of the chain's length, and in
/// rad.
const PIECE: f64 = 0.05;

/// A joint that moves by more than this on one piece has jumped, unless smaller pieces show
/// otherwise. In rad; for a slide as a share of the chain's length.
const JUMP: f64 = 0.4;

/// Number of times that a piece is halved before a jump is reported.
const HALVINGS: u32 = 8;

/// Largest number of pieces between two targets; a path with more is refused.
const MOST_PIECES: f64 = 10_000.0;

/// Moves a frame from target to target along straight lines, with the configuration as near to a
/// posture as the targets permit.
///
/// The present configuration is kept between calls. `q0` is both the first configuration and the
/// posture.
#[derive(Debug)]
pub struct Follower<'a> {
    search: Search<'a>,
    q: Vec<f64>,
}

impl<'a> Follower<'a> {
    /// Creates a follower at the configuration and posture `q0`.
    ///
    /// # Errors
    ///
    /// An argument does not fit this system.
    pub fn new(
        system: &'a System,
        frame: &Frame,
        q0: &[f64],
        settings: &'a IkSettings,
    ) -> Result<Self, IkError> {
        let search = Search::new(system, frame, q0, settings)?;
        let q = search.seed(0);
        Ok(Self { search, q })
    }

    /// Sets the present configuration to `q`; the posture stays.
    ///
    /// # Panics
    ///
    /// If the length of `q` is not that of `q0`.
    pub fn reset(&mut self, q: &[f64]) {
        self.q.copy_from_slice(q);
    }

    /// Pose of the frame at the present configuration.
    pub fn pose(&mut self) -> Pose {
        self.search.pose(&self.q)
    }

    /// Pose of the frame at the configuration `q`.
    pub fn pose_at(&mut self, q: &[f64]) -> Pose {
        self.search.pose(q)
    }

    /// Bodies whose joints move.
    pub fn joints(&self) -> &[usize] {
        &self.search.joints
    }

    /// Moves to a target without a constraint on the path, as [`System::inverse_kinematics`] does.
    ///
    /// # Errors
    ///
    /// The target is not reached; the present configuration is unchanged.
    pub fn start_at(&mut self, target: &FrameTarget) -> Result<&[f64], IkError> {
        self.q = self.search.solve(target)?.q;
        Ok(&self.q)
    }

    /// Moves to a target along a straight line, with rotation about one fixed axis.
    ///
    /// # Errors
    ///
    /// A point on the path is not reached, or a joint would have to jump; the present configuration
    /// is unchanged.
    pub fn go_to(&mut self, target: &FrameTarget) -> Result<&[f64], IkError> {
        target.check()?;
        let from = self.pose();
        let search = &mut self.search;
        let way = target.position_error(from.translation).norm() / search.length;
        let turn = target.rotation_error(from.rotation).norm();
        let pieces = (way.max(turn) / PIECE).ceil().clamp(1.0, MOST_PIECES);
        let mut q = self.q.clone();
        let mut halvings = 0;
        let (mut done, mut piece) = (0.0, 1.0 / pieces);
        while done < 1.0 {
            let s = if done + piece > 1.0 - 1e-9 { 1.0 } else { done + piece };
            let on_the_way = target.between(&from, s);
            let mut next = q.clone();
            search.approach(&on_the_way, &mut next);
            let there = search.is_there(&on_the_way, &next);
            if there {
                search.optimise_posture(&on_the_way, &mut next);
            }
            let (joint, by, moved) = search.largest_move(&q, &next);
            if there && moved <= JUMP {
                (q, done) = (next, s);
                continue;
            }
            if halvings == HALVINGS {
                let jump = there.then_some((joint, by));
                return Err(search.not_reached(&on_the_way, next, jump));
            }
            halvings += 1;
            piece *= 0.5;
        }
        self.q = q;
        Ok(&self.q)
    }
}
