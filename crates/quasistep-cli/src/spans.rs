//! Whether answers were the only ones, from when to when.

use quasistep::Uniqueness;
use std::fmt::Write as _;

/// Steps one after another with the same answer.
#[derive(Default)]
pub struct Spans {
    all: Vec<Span>,
}

/// From the end of the first step to that of the last, in s, and what was said of the motion and of the forces.
pub struct Span {
    pub from: f64,
    pub to: f64,
    pub motion: String,
    pub forces: String,
}

impl Spans {
    /// Adds a step that ended at `t`; none if it took its fallback or had no exact friction.
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

    /// All of them, in order.
    pub fn all(&self) -> &[Span] {
        &self.all
    }

    /// The table `from,to,motion,forces` in s and words.
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
