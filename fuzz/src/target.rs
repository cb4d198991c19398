//! What is drawn and judged, and what a judge says.

use crate::{files, programs, python_calls, worlds};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A kind of case.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// The case of a seed.
    pub draw: fn(u64) -> Value,
    /// What becomes of a case; `None` where another program's worker judges.
    /// With `false` a judge leaves out what takes more time than the case itself: second runs, images.
    pub judge: Option<fn(&Value, bool) -> Verdict>,
    /// Cases of a run that says neither a number nor a time: those of CI, some ten CPU seconds.
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

/// The target of a name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which promise is broken, the same for every case that breaks it: a smaller case is one of the same kind.
    pub kind: String,
    /// How, with numbers.
    pub text: String,
}

/// What a judge says of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// What happened, counted.
    pub counts: BTreeMap<String, u64>,
    /// The first thing that must not be.
    pub finding: Option<Finding>,
}

impl Verdict {
    /// Counts something.
    pub fn count(&mut self, what: impl Into<String>) {
        self.add(what, 1);
    }

    /// Counts something so many times.
    pub fn add(&mut self, what: impl Into<String>, times: u64) {
        *self.counts.entry(what.into()).or_default() += times;
    }

    /// Blames something, unless something was blamed before.
    pub fn blame(&mut self, kind: impl Into<String>, text: impl Into<String>) {
        self.finding.get_or_insert_with(|| Finding { kind: kind.into(), text: text.into() });
    }

    /// As JSON, on one line.
    pub fn to_json(&self) -> Value {
        let finding = self.finding.as_ref().map(|f| json!({"kind": f.kind, "text": f.text}));
        json!({"counts": self.counts, "finding": finding})
    }

    /// From what [`to_json`](Self::to_json) wrote; what is not of that form is left out.
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
