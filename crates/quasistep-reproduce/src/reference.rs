//! Recorded results of other engines, shipped with the crate. `data/README.md` lists their sources.

/// A table of numbers with named columns, from CSV text.
#[derive(Clone, Debug)]
pub struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Parses CSV text whose first line names the columns; cells contain no commas.
    ///
    /// # Panics
    ///
    /// If a row has more or fewer cells than the heading, which means that shipped data are
    /// damaged.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines().filter(|l| !l.is_empty());
        let split = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let names = lines.next().map(split).unwrap_or_default();
        let rows: Vec<Vec<String>> = lines.map(split).collect();
        for (k, row) in rows.iter().enumerate() {
            assert_eq!(row.len(), names.len(), "row {k} against the heading {names:?}");
        }
        Self { names, rows }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A column as text.
    ///
    /// # Panics
    ///
    /// If there is no column of this name.
    pub fn text(&self, column: &str) -> Vec<&str> {
        let index = self.names.iter().position(|n| n == column);
        let index = index.unwrap_or_else(|| panic!("no column `{column}` in {:?}", self.names));
        self.rows.iter().map(|row| row[index].as_str()).collect()
    }

    /// A column as numbers; NaN for a cell that is not a number.
    ///
    /// # Panics
    ///
    /// If there is no column of this name.
    pub fn column(&self, column: &str) -> Vec<f64> {
        self.text(column).into_iter().map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()
    }
}

/// Recordings of the 2-D gripper. The programs are those of Pang21.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gripper {
    /// QP (10), pull ends at 0.23 s, massless sphere.
    QpPeerKnots,
    /// QP (10), pull ends at 0.23 s, sphere of 1 kg.
    QpPeerKnotsMass,
    /// QP (10), pull ends at 0.24 s, massless sphere.
    QpStopAt024,
    /// QP (10), pull ends at 0.24 s, sphere of 1 kg.
    QpStopAt024Mass,
    /// LCP (6), pull ends at 0.23 s, massless sphere.
    LcpPeerKnots,
    /// LCP (6), pull ends at 0.23 s, sphere of 1 kg.
    LcpPeerKnotsMass,
    /// LCP (6), pull ends at 0.24 s, massless sphere.
    LcpStopAt024,
    /// LCP (6), pull ends at 0.24 s, sphere of 1 kg.
    LcpStopAt024Mass,
}

/// A recording of the 2-D gripper, Pang21 Fig. 2, 35 rows.
pub fn gripper_2d(which: Gripper) -> Table {
    Table::parse(match which {
        Gripper::QpPeerKnots => include_str!("../data/gripper2d/qp_peer_knots_mu0kg.csv"),
        Gripper::QpPeerKnotsMass => include_str!("../data/gripper2d/qp_peer_knots_mu1kg.csv"),
        Gripper::QpStopAt024 => include_str!("../data/gripper2d/qp_stop_at_0.24_mu0kg.csv"),
        Gripper::QpStopAt024Mass => include_str!("../data/gripper2d/qp_stop_at_0.24_mu1kg.csv"),
        Gripper::LcpPeerKnots => include_str!("../data/gripper2d/lcp_peer_knots_mu0kg.csv"),
        Gripper::LcpPeerKnotsMass => include_str!("../data/gripper2d/lcp_peer_knots_mu1kg.csv"),
        Gripper::LcpStopAt024 => include_str!("../data/gripper2d/lcp_stop_at_0.24_mu0kg.csv"),
        Gripper::LcpStopAt024Mass => include_str!("../data/gripper2d/lcp_stop_at_0.24_mu1kg.csv"),
    })
}

/// Friction models of Trinkle05 used for the recordings of the fence and the particle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceModel {
    /// Model-DLC with 4 directions.
    Dlc4,
    /// Model-DLC with 8 directions.
    Dlc8,
    /// Model-DQC, round cones.
    Dqc,
}

/// A recording of the fence and the particle, Trinkle05 section 5: 700 steps of 0.01 s.
///
/// The friction coefficient of the floor is 0.5, that of the fence 0.5 or, without `rubs`, 0. A row
/// is valid until the `step` of the next row, to 2e-12.
pub fn fence_particle(model: FenceModel, rubs: bool) -> Table {
    Table::parse(match (model, rubs) {
        // a frictionless fence pushes along an edge of the pyramid, so both models agree to all
        // recorded digits
        (FenceModel::Dlc4 | FenceModel::Dqc, false) => {
            include_str!("../data/fence_particle/dlc4_mu2_0.0.csv")
        }
        (FenceModel::Dlc4, true) => include_str!("../data/fence_particle/dlc4_mu2_0.5.csv"),
        (FenceModel::Dlc8, false) => include_str!("../data/fence_particle/dlc8_mu2_0.0.csv"),
        (FenceModel::Dlc8, true) => include_str!("../data/fence_particle/dlc8_mu2_0.5.csv"),
        (FenceModel::Dqc, true) => include_str!("../data/fence_particle/dqc_mu2_0.5.csv"),
    })
}

/// Time steps of the recordings of the spun ball, in s.
pub const TORSION_STEPS: [f64; 4] = [0.005, 0.01, 0.02, 0.05];

/// A recording of the spun ball, Tracy Fig. 3, with a time step `h` of [`TORSION_STEPS`]. The
/// torque grows for 1 s. With `hold` it then stays constant for another 1 s.
///
/// # Panics
///
/// If there is no recording with this time step.
pub fn torsion(h: f64, hold: bool) -> Table {
    let index = TORSION_STEPS.iter().position(|step| *step == h);
    let ramp = [
        include_str!("../data/torsion/torsion_ramp_h0.005.csv"),
        include_str!("../data/torsion/torsion_ramp_h0.01.csv"),
        include_str!("../data/torsion/torsion_ramp_h0.02.csv"),
        include_str!("../data/torsion/torsion_ramp_h0.05.csv"),
    ];
    let held = [
        include_str!("../data/torsion/torsion_ramp_hold_h0.005.csv"),
        include_str!("../data/torsion/torsion_ramp_hold_h0.01.csv"),
        include_str!("../data/torsion/torsion_ramp_hold_h0.02.csv"),
        include_str!("../data/torsion/torsion_ramp_hold_h0.05.csv"),
    ];
    let index = index.unwrap_or_else(|| panic!("no recording at h = {h}"));
    Table::parse(if hold { held[index] } else { ramp[index] })
}

/// Ground-truth pose of the red cube in the stacking task, every 10 ms: `t, qw, qx, qy, qz, x, y,
/// z`.
pub fn red_cube() -> Table {
    Table::parse(include_str!("../data/iiwa_stacking/redcube_drake_sap_50us.csv"))
}

/// Integral errors of other engines on the stacking task.
pub fn engines() -> Table {
    Table::parse(include_str!("../data/iiwa_stacking/engines.csv"))
}
