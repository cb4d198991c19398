//! The stages of a step, and a stopwatch over them.

/// Stages of a step, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// `q` → poses and body Jacobians.
    Kinematics,
    /// Poses and shapes → near points.
    Distance,
    /// Near points × Jacobians → contact rows.
    Contact,
    /// Rows and loads → a program for the solver.
    Assemble,
    /// The program → its solution.
    Solve,
    /// The solution → velocities and impulses.
    Recover,
    /// `q` and `v` → the next `q`.
    Integrate,
    /// Residuals and true distances → the certificate.
    Report,
}

impl Stage {
    /// Number of stages.
    pub const COUNT: usize = 8;
    /// All stages, in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Kinematics,
        Self::Distance,
        Self::Contact,
        Self::Assemble,
        Self::Solve,
        Self::Recover,
        Self::Integrate,
        Self::Report,
    ];

    /// Name of the stage in docs, timers and module names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kinematics => "kinematics",
            Self::Distance => "distance",
            Self::Contact => "contact",
            Self::Assemble => "assemble",
            Self::Solve => "solve",
            Self::Recover => "recover",
            Self::Integrate => "integrate",
            Self::Report => "report",
        }
    }
}

/// Stopwatch over the stages of a step.
#[derive(Debug, Default)]
pub(crate) struct Timer {
    pub clock: Option<fn() -> u64>,
    current: Option<Stage>,
    since: u64,
    pub spent_ns: [u64; Stage::COUNT],
}

impl Timer {
    pub fn reset(&mut self) {
        self.spent_ns = [0; Stage::COUNT];
        self.current = None;
    }

    /// Ends the running stage and begins another.
    pub fn enter(&mut self, stage: Stage) {
        let Some(clock) = self.clock else { return };
        let now = clock();
        if let Some(running) = self.current {
            self.spent_ns[running as usize] += now.saturating_sub(self.since);
        }
        self.current = Some(stage);
        self.since = now;
    }

    /// Ends the running stage.
    pub fn stop(&mut self) {
        if let (Some(clock), Some(running)) = (self.clock, self.current.take()) {
            self.spent_ns[running as usize] += clock().saturating_sub(self.since);
        }
    }
}
