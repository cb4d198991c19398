//! Many targets, each from the last: continuous in the joints.

use super::answer::{IkError, IkSettings};
use super::search::Search;
use super::target::FrameTarget;
use crate::System;
use quasistep_math::Pose;
use quasistep_model::Frame;

/// Largest piece of a straight way that is taken at once, as a share of the chain's length, and in rad.
const PIECE: f64 = 0.05;

/// A joint that moves by more on one piece, in rad (a slide: as a share of the chain's length), has jumped, unless
/// smaller pieces show that it has not.
const JUMP: f64 = 0.4;

/// A piece is halved so often before a jump is believed.
const HALVINGS: u32 = 8;

/// More pieces than this are no way between two targets.
const MOST_PIECES: f64 = 10_000.0;

/// Leads a frame from target to target along straight lines, as near to a posture as they let it.
///
/// Keeps where it is: the configuration that it starts from is `q0`.
#[derive(Debug)]
pub struct Follower<'a> {
    search: Search<'a>,
    q: Vec<f64>,
}

impl<'a> Follower<'a> {
    /// A frame at the configuration and posture `q0`.
    ///
    /// # Errors
    ///
    /// An argument that does not fit.
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

    /// Puts it at another configuration; the posture stays.
    ///
    /// # Panics
    ///
    /// If `q` has another length than before.
    pub fn reset(&mut self, q: &[f64]) {
        self.q.copy_from_slice(q);
    }

    /// Where the frame is now.
    pub fn pose(&mut self) -> Pose {
        self.search.pose(&self.q)
    }

    /// Pose of the frame at another configuration.
    pub fn pose_at(&mut self, q: &[f64]) -> Pose {
        self.search.pose(q)
    }

    /// Bodies whose joints move.
    pub fn joints(&self) -> &[usize] {
        &self.search.joints
    }

    /// Goes to a target by any way, as [`System::inverse_kinematics`] does.
    ///
    /// # Errors
    ///
    /// The target is not reached; the follower stays where it was.
    pub fn start_at(&mut self, target: &FrameTarget) -> Result<&[f64], IkError> {
        self.q = self.search.solve(target)?.q;
        Ok(&self.q)
    }

    /// Goes on to a target along the straight line, and the rotation about one axis, that lead there.
    ///
    /// # Errors
    ///
    /// A place on the way is not reached, or a joint would have to jump; the follower stays where it was.
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
