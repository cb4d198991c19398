//! Time spans with equal uniqueness of solutions.

use quasistep::Uniqueness;
use std::fmt::Write as _;

/// Consecutive steps grouped into spans of equal uniqueness.
#[derive(Default)]
pub struct Spans {
    all: Vec<Span>,
}

/// Ends of the first and of the last step, in s, and the results for motion and forces as text.
pub struct Span {
    pub from: f64,
    pub to: f64,
    pub motion: String,
    pub forces: String,
}

impl Spans {
    /// Adds a step that ended at `t`. `answer` is `None` for a step with a fallback or without
    /// exact friction.
    pub fn push(&mut self, t: f64, answer: Option<&Uniqueness>) {
        let said = answer.map(|a| a.texts().map(String::from).into());
        let (motion, forces) = said.unwrap_or_else(|| {
            ("no answer with exact friction was asked about".into(), String::new())
        });
        match self.all.last_mut() {
            Some(last) if last.motion == motion && last.forces == forces => last.to = t,
            _ => self.all.push(Span { from: t, to: t, motion, forces }),
        }
    }

    /// All spans, in order.
    pub fn all(&self) -> &[Span] {
        &self.all
    }

    /// CSV table `from,to,motion,forces`: times in s, results as text.
    pub fn csv(&self) -> String {
        let mut text = String::from("from_s,to_s,motion,forces\n");
        for span in &self.all {
            let Span { from, to, motion, forces } = span;
            // writing to a String cannot fail
            let _ = writeln!(text, "{from},{to},\"{motion}\",\"{forces}\"");
        }
        text
    }
}
