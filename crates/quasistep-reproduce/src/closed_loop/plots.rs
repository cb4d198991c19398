//! Plots of a closed loop, as in MpcNote Figures 2 to 4.

use super::results::LoopRun;
use quasistep_record::Curve;
use quasistep_view::plot::{Axis, Figure, Line, Marker, PALETTE, Panel, Series};

/// Largest number of curves in a panel; more would not be readable.
const PER_PANEL: usize = 10;

impl LoopRun {
    /// All plots by file name: `impulses.svg`, `state.svg`, `inputs.svg`, `cost.svg`.
    pub fn figures(&self, title: &str) -> Vec<(&'static str, Figure)> {
        if self.steps.is_empty() {
            return Vec::new();
        }
        let titled = |what: &str| Figure::new(format!("{title}: {what}"));
        let n = self.dofs.len();
        let state = |offset: usize, label: &str| {
            let mut panel = Panel::new(step_axis(), Axis::linear(label));
            for (i, dof) in self.dofs.iter().take(PER_PANEL).enumerate() {
                let color = PALETTE[i % PALETTE.len()];
                let values: Vec<f64> = self.steps.iter().map(|s| s.x[offset + i]).collect();
                panel = panel.series(Series::new(dof.as_str(), &self.k(), &values).color(color));
                let wanted: Vec<f64> = (0..values.len())
                    .map(|k| self.trajectory[k.min(self.trajectory.len() - 1)][offset + i])
                    .collect();
                if offset == 0 && self.weighed[i] {
                    let goal = Series::new("", &self.k(), &wanted);
                    panel = panel.series(goal.color(color).line(Line::Dashed));
                }
            }
            panel
        };
        let mut inputs = Panel::new(step_axis(), Axis::linear("input (N, m or rad)"));
        for (i, name) in self.inputs.iter().take(PER_PANEL).enumerate() {
            let values: Vec<f64> = self.steps.iter().map(|s| s.plan.inputs[0][i]).collect();
            inputs = inputs.series(Series::new(name.as_str(), &self.k(), &values));
        }
        vec![
            ("impulses.svg", self.impulse_figure(titled("contact and friction impulses"))),
            (
                "state.svg",
                titled("state (dashed: the goal)")
                    .panel(state(0, "position (m, rad)"))
                    .panel(state(n, "velocity (m/s, rad/s)")),
            ),
            ("inputs.svg", titled("inputs").panel(inputs)),
            ("cost.svg", self.cost_figure(titled("cost, gap and nodes"))),
        ]
    }

    /// Cost and bound of each plan, and positions beside goals.
    pub(super) fn curves(&self) -> Vec<Curve> {
        let times: Vec<f64> = self.k().iter().map(|k| k * self.time_step).collect();
        let curve =
            |title: &str, name: &str, values: Vec<f64>, dashed: &str, beside: Vec<f64>| Curve {
                title: title.into(),
                name: name.into(),
                times: times.clone(),
                values,
                beside: Some((dashed.into(), beside)),
            };
        let bounds = self.steps.iter().map(|s| s.plan.bound).collect();
        let mut curves = vec![curve("Cost of the plan", "cost", self.costs(), "bound", bounds)];
        for (i, dof) in self.dofs.iter().enumerate().filter(|(i, _)| self.weighed[*i]) {
            let unit = self.recording.coordinate(dof).and_then(|c| self.recording.units.get(c));
            // other rates turn a body
            let unit = unit.map_or("rad", String::as_str);
            let last = self.trajectory.len() - 1;
            let values = self.steps.iter().map(|s| s.x[i]).collect();
            let goal = (0..times.len()).map(|k| self.trajectory[k.min(last)][i]).collect();
            curves.push(curve(&format!("Goals ({unit})"), dof, values, "goals", goal));
        }
        curves
    }

    /// Normal and friction impulses of the contacts that carry one in some step: MpcNote Figures 2
    /// and 3.
    pub(crate) fn impulse_figure(&self, figure: Figure) -> Figure {
        let mut normal = Panel::new(step_axis(), Axis::linear("contact impulse (N·s)"));
        let mut friction = Panel::new(step_axis(), Axis::linear("friction impulse (N·s)"));
        let mut drawn = 0;
        for (i, [a, b]) in self.contacts.iter().enumerate() {
            let c = self.normal_impulses(i);
            // contacts without impulses are drawn only if there is room in the legend
            let silent = c.iter().all(|c| *c == 0.0);
            if drawn == PER_PANEL || (silent && self.contacts.len() > 3) {
                continue;
            }
            drawn += 1;
            let name = format!("{} on {}", short(a), short(b));
            normal = normal.series(Series::new(name.as_str(), &self.k(), &c));
            friction = friction.series(Series::new(name, &self.k(), &self.friction_impulses(i)));
        }
        figure.panel(normal).panel(friction)
    }

    fn cost_figure(&self, figure: Figure) -> Figure {
        let bounds: Vec<f64> = self.steps.iter().map(|s| s.plan.bound).collect();
        // a logarithmic axis needs positive gaps: use the rounding of the cost as the smallest
        let gap = |s: &quasistep_control::LoopStep| s.plan.gap().max(f64::EPSILON * s.plan.cost);
        let gaps: Vec<f64> = self.steps.iter().map(gap).collect();
        let nodes: Vec<f64> = self.steps.iter().map(|s| s.plan.nodes as f64).collect();
        figure
            .panel(
                Panel::new(step_axis(), Axis::linear("cost"))
                    .series(Series::new("cost", &self.k(), &self.costs()))
                    .series(Series::new("bound", &self.k(), &bounds).line(Line::Dashed)),
            )
            .panel(Panel::new(step_axis(), Axis::log("gap")).height(220.0).series(Series::new(
                "",
                &self.k(),
                &gaps,
            )))
            .panel(
                Panel::new(step_axis(), Axis::linear("nodes")).height(220.0).series(
                    Series::new("", &self.k(), &nodes).line(Line::None).marker(Marker::Circle),
                ),
            )
    }

    pub(crate) fn k(&self) -> Vec<f64> {
        (0..self.steps.len()).map(|k| k as f64).collect()
    }
}

pub(crate) fn step_axis() -> Axis {
    Axis::linear("step k")
}

/// Shortens a body's name to its model if the model has one body.
fn short(body: &str) -> &str {
    match body.split_once('/') {
        Some((model, link)) if model == link => model,
        _ => body,
    }
}
