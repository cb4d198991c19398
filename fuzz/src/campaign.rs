//! Runs a target over its seeds, counts, and cuts findings down to files.

use crate::shrink::shrink;
use crate::target::{Finding, Target, Verdict};
use crate::worker::Worker;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Findings of one kind that are cut down; of more only the seeds are told.
const SHRUNK: usize = 3;
/// Wall time for cutting down one finding.
const PATIENCE: Duration = Duration::from_mins(1);

/// How much of a target is run, and where what it finds goes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// First seed.
    pub seed: u64,
    /// Number of cases, if it is not time that ends them.
    pub cases: Option<u64>,
    /// Wall time, if it is not a number of cases that ends them.
    pub time: Option<Duration>,
    /// Worker processes at a time.
    pub jobs: usize,
    /// Folder of the findings.
    pub out: PathBuf,
    /// The command of a worker.
    pub worker: Vec<String>,
}

/// What a target came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Cases judged.
    pub cases: u64,
    /// What happened, counted.
    pub counts: BTreeMap<String, u64>,
    /// Findings by kind: seed and text of each.
    pub findings: BTreeMap<String, Vec<(u64, String)>>,
    /// Files of those that were cut down.
    pub files: Vec<PathBuf>,
    /// Most memory of a worker, in bytes.
    pub peak: u64,
}

/// Runs a target as planned.
///
/// # Errors
///
/// A worker cannot be started, or a finding cannot be written.
pub fn run(target: &Target, plan: &Plan) -> io::Result<Outcome> {
    let end = plan.time.map(|time| Instant::now() + time);
    let cases = match (plan.cases, plan.time) {
        (Some(cases), _) => cases,
        (None, Some(_)) => u64::MAX,
        (None, None) => target.cases,
    };
    let (next, outcome) = (AtomicU64::new(0), Mutex::new(Outcome::default()));
    let results: Vec<io::Result<()>> = std::thread::scope(|scope| {
        let run_one = || -> io::Result<()> {
            let mut worker = Worker::new(plan.worker.clone());
            loop {
                let k = next.fetch_add(1, Ordering::Relaxed);
                if k >= cases || end.is_some_and(|end| Instant::now() > end) {
                    break;
                }
                let seed = plan.seed.wrapping_add(k);
                // another program's worker does not draw
                let task = match target.judge {
                    Some(_) => json!({"target": target.name, "seed": seed}),
                    None => json!({"target": target.name, "case": (target.draw)(seed)}),
                };
                let verdict = worker.ask(&task)?;
                if let Some((place, finding)) = note(&outcome, seed, verdict) {
                    let file = cut_down(target, plan, seed, place, &finding, &mut worker)?;
                    lock(&outcome).files.push(file);
                }
            }
            let mut outcome = lock(&outcome);
            outcome.peak = outcome.peak.max(worker.peak);
            Ok(())
        };
        let threads: Vec<_> = (0..plan.jobs.max(1)).map(|_| scope.spawn(run_one)).collect();
        threads.into_iter().map(|t| t.join().unwrap_or(Ok(()))).collect()
    });
    results.into_iter().collect::<io::Result<()>>()?;
    Ok(outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

fn lock(outcome: &Mutex<Outcome>) -> std::sync::MutexGuard<'_, Outcome> {
    outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Counts a verdict; returns a finding that is to be cut down, and its number among those of its kind.
fn note(outcome: &Mutex<Outcome>, seed: u64, verdict: Verdict) -> Option<(usize, Finding)> {
    let mut outcome = lock(outcome);
    outcome.cases += 1;
    for (what, n) in verdict.counts {
        *outcome.counts.entry(what).or_default() += n;
    }
    let finding = verdict.finding?;
    let alike = outcome.findings.entry(finding.kind.clone()).or_default();
    alike.push((seed, finding.text.clone()));
    (alike.len() <= SHRUNK).then_some((alike.len(), finding))
}

/// Writes the smallest case of a finding's kind; its file.
fn cut_down(
    target: &Target,
    plan: &Plan,
    seed: u64,
    place: usize,
    finding: &Finding,
    worker: &mut Worker,
) -> io::Result<PathBuf> {
    let case = (target.draw)(seed);
    let mut text = finding.text.clone();
    let mut holds = |smaller: &Value| {
        let verdict = worker.ask(&json!({"target": target.name, "case": smaller}));
        let found = verdict.ok().and_then(|verdict| verdict.finding);
        let same = found.filter(|found| found.kind == finding.kind);
        if let Some(found) = &same {
            text.clone_from(&found.text);
        }
        same.is_some()
    };
    let small = shrink(&case, PATIENCE, &mut holds);
    std::fs::create_dir_all(&plan.out)?;
    let words: String = finding
        .kind
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(40)
        .collect();
    let stem = plan.out.join(format!("{}-{words}-{place}", target.name));
    let file = stem.with_extension("json");
    let whole = json!({
        "target": target.name, "seed": seed, "kind": finding.kind, "text": text, "case": small,
    });
    std::fs::write(&file, format!("{whole:#}\n"))?;
    if target.name == "worlds" {
        // the scene by itself, for the command line
        std::fs::write(stem.with_extension("yml"), format!("{small}\n"))?;
    }
    Ok(file)
}

impl Outcome {
    /// A table of what happened.
    pub fn table(&self, target: &Target) -> String {
        let mut lines = vec![format!("| {}: {} cases | count |", target.name, self.cases)];
        lines.push("|---|---|".into());
        lines.extend(self.counts.iter().map(|(what, n)| format!("| {what} | {n} |")));
        let found: usize = self.findings.values().map(Vec::len).sum();
        lines.push(format!("| **findings** | {found} |"));
        lines.push(format!("| most memory of a worker, MB | {} |", self.peak / 1_000_000));
        for (kind, alike) in &self.findings {
            let seeds: Vec<String> =
                alike.iter().take(6).map(|(seed, _)| seed.to_string()).collect();
            let (n, text) = (alike.len(), &alike[0].1);
            lines.push(format!("\n{kind}: {n}, seeds {}\n  {text}", seeds.join(", ")));
        }
        lines.join("\n")
    }
}
