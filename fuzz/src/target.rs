//! Targets (kinds of cases) and verdicts.

use crate::{files, programs, python_calls, worlds};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A kind of case, with functions that draw and judge it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name on the command line.
    pub name: &'static str,
    /// Draws the case of a seed.
    pub draw: fn(u64) -> Value,
    /// Judges a case; `None` if a worker of another program does. With `false` it omits expensive
    /// comparisons: second runs and transformed copies.
    pub judge: Option<fn(&Value, bool) -> Verdict>,
    /// Default number of cases, as in CI: about ten CPU seconds.
    pub cases: u64,
}

/// All targets of this program.
pub const TARGETS: [Target; 4] = [
    Target { name: "worlds", draw: testkit::worlds::world, judge: Some(worlds::judge), cases: 60 },
    Target {
        name: "files",
        draw: files::draw,
        judge: Some(|case, _| files::judge(case)),
        cases: 20000,
    },
    Target {
        name: "programs",
        draw: programs::draw,
        judge: Some(|case, _| programs::judge(case)),
        cases: 1500,
    },
    Target { name: "python", draw: python_calls::draw, judge: None, cases: 200 },
];

/// Finds a target by its name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// A violated requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The violated requirement, without details of the case. A shrunk case must have the same
    /// kind.
    pub kind: String,
    /// Description of the violation, with numbers.
    pub text: String,
}

/// Result of judging a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Number of events of each kind.
    pub counts: BTreeMap<String, u64>,
    /// The first violation, if any.
    pub finding: Option<Finding>,
}

impl Verdict {
    /// Counts an event.
    pub fn count(&mut self, what: impl Into<String>) {
        self.add(what, 1);
    }

    /// Counts an event several times.
    pub fn add(&mut self, what: impl Into<String>, times: u64) {
        *self.counts.entry(what.into()).or_default() += times;
    }

    /// Records a finding, unless there is one already.
    pub fn blame(&mut self, kind: impl Into<String>, text: impl Into<String>) {
        self.finding.get_or_insert_with(|| Finding { kind: kind.into(), text: text.into() });
    }

    /// As JSON, on one line.
    pub fn to_json(&self) -> Value {
        let finding = self.finding.as_ref().map(|f| json!({"kind": f.kind, "text": f.text}));
        json!({"counts": self.counts, "finding": finding})
    }

    /// Parses the output of [`to_json`](Self::to_json). Parts of another form are ignored.
    pub fn from_json(value: &Value) -> Self {
        let text = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
        let counts = value["counts"].as_object().into_iter().flatten();
        Self {
            counts: counts.filter_map(|(k, n)| Some((k.clone(), n.as_u64()?))).collect(),
            finding: value["finding"].as_object().map(|_| Finding {
                kind: text(&value["finding"], "kind"),
                text: text(&value["finding"], "text"),
            }),
        }
    }
}
