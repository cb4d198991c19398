//! Runs a target over its seeds, counts outcomes, and writes shrunk findings to files.

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

/// Number of findings of one kind that are shrunk; of others only the seeds are listed.
const SHRUNK: usize = 3;
/// Wall time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);
/// Classes of findings of worlds, with the prefixes of their kinds. They are rows of the table even
/// if nothing was found.
const CLASSES: [(&str, &[&str]); 5] = [
    ("panics, hangs and deaths", &["panic", "hang", "process died"]),
    ("uncertified", &["uncertified"]),
    ("wrong certificates", &WRONG),
    ("beyond their budget", &["beyond its budget"]),
    ("other findings", &[]),
];
/// Kinds of findings about certified steps.
const WRONG: [&str; 8] = [
    "not finite",
    "out of balance",
    "a contact pulls",
    "friction beyond its cone",
    "friction not against the slip",
    "a gap closes too far",
    "a force over a gap",
    "overlap along the motion",
];
/// Limit of wall time for shrinking one finding.
const PATIENCE: Duration = Duration::from_mins(1);

/// Extent of a run, and where its findings are written.
#[derive(Clone, Debug)]
pub struct Plan {
    /// First seed.
    pub seed: u64,
    /// Number of cases; `None` if a time limit ends the run.
    pub cases: Option<u64>,
    /// Number of steps of worlds; `None` if a number of cases ends the run.
    pub steps: Option<u64>,
    /// One case in this many is compared with a second run and transformed copies.
    pub compare: u64,
    /// Limit of wall time; `None` if a number of cases ends the run.
    pub time: Option<Duration>,
    /// Number of concurrent worker processes.
    pub jobs: usize,
    /// Folder of the findings.
    pub out: PathBuf,
    /// Command line of a worker.
    pub worker: Vec<String>,
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of judged cases.
    pub cases: u64,
    /// Number of events of each kind.
    pub counts: BTreeMap<String, u64>,
    /// Findings by kind, each with seed and text.
    pub findings: BTreeMap<String, Vec<(u64, String)>>,
    /// Largest memory of a worker, in bytes.
    pub peak: u64,
}

/// Runs a target as planned.
///
/// # Errors
///
/// If a worker cannot be started, or a finding cannot be written.
pub fn run(target: &Target, plan: &Plan) -> io::Result<Outcome> {
    let end = plan.time.map(|time| Instant::now() + time);
    let cases = match plan.cases {
        Some(cases) => cases,
        None if plan.time.is_some() || plan.steps.is_some() => u64::MAX,
        None => target.cases,
    };
    let told = Mutex::new(Instant::now());
    let (next, outcome) = (AtomicU64::new(0), Mutex::new(Outcome::default()));
    let results: Vec<io::Result<()>> = std::thread::scope(|scope| {
        let run_one = || -> io::Result<()> {
            let mut worker = Worker::new(plan.worker.clone());
            loop {
                let k = next.fetch_add(1, Ordering::Relaxed);
                let enough = plan.steps.is_some_and(|steps| lock(&outcome).steps() >= steps);
                if k >= cases || enough || end.is_some_and(|end| Instant::now() > end) {
                    break;
                }
                let seed = plan.seed.wrapping_add(k);
                // a worker of another program does not draw cases
                let task = match target.judge {
                    Some(_) => {
                        let compare = k.is_multiple_of(plan.compare.max(1));
                        json!({"target": target.name, "seed": seed, "compare": compare})
                    }
                    None => json!({"target": target.name, "case": (target.draw)(seed)}),
                };
                let verdict = worker.ask(&task)?;
                let mut outcome = lock(&outcome);
                outcome.peak = outcome.peak.max(worker.peak);
                outcome.note(seed, verdict);
                let mut told = lock(&told);
                if told.elapsed() > PROGRESS {
                    *told = Instant::now();
                    // an interrupted run still prints the table
                    std::fs::create_dir_all(&plan.out)?;
                    let table = plan.out.join(target.name).with_extension("md");
                    std::fs::write(table, outcome.table(target) + "\n")?;
                    eprintln!("{}", outcome.line());
                }
            }
            Ok(())
        };
        let threads: Vec<_> = (0..plan.jobs.max(1)).map(|_| scope.spawn(run_one)).collect();
        threads.into_iter().map(|t| t.join().unwrap_or(Ok(()))).collect()
    });
    results.into_iter().collect::<io::Result<()>>()?;
    Ok(outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Shrinks the first findings of each kind; returns their files.
///
/// # Errors
///
/// If a worker cannot be started, or a finding cannot be written.
pub fn cut_down(target: &Target, plan: &Plan, outcome: &Outcome) -> io::Result<Vec<PathBuf>> {
    let mut worker = Worker::new(plan.worker.clone());
    let mut files = Vec::new();
    for (kind, alike) in &outcome.findings {
        for (place, (seed, text)) in alike.iter().take(SHRUNK).enumerate() {
            let finding = Finding { kind: kind.clone(), text: text.clone() };
            files.push(cut_down_one(target, plan, *seed, place + 1, &finding, &mut worker)?);
        }
    }
    Ok(files)
}

/// Writes the shrunk case of a finding; returns its file.
fn cut_down_one(
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
        // the scene alone, for the command line
        std::fs::write(stem.with_extension("yml"), format!("{small}\n"))?;
    }
    Ok(file)
}

impl Outcome {
    /// Counts a verdict.
    fn note(&mut self, seed: u64, verdict: Verdict) {
        self.cases += 1;
        for (what, n) in verdict.counts {
            *self.counts.entry(what).or_default() += n;
        }
        if let Some(Finding { kind, text }) = verdict.finding {
            self.findings.entry(kind).or_default().push((seed, text));
        }
    }

    fn steps(&self) -> u64 {
        self.counts.get("steps").copied().unwrap_or(0)
    }

    fn found(&self) -> usize {
        self.findings.values().map(Vec::len).sum()
    }

    fn line(&self) -> String {
        format!("{} cases, {} steps, {} findings", self.cases, self.steps(), self.found())
    }

    /// Number of findings whose kind has one of these prefixes; with an empty list, of those that
    /// belong to no class.
    fn of_class(&self, begins: &[&str]) -> usize {
        let is = |kind: &str, begins: &[&str]| begins.iter().any(|b| kind.starts_with(b));
        let others = |kind: &str| !CLASSES.iter().any(|(_, begins)| is(kind, begins));
        let mine = |kind: &str| is(kind, begins) || begins.is_empty() && others(kind);
        self.findings.iter().filter(|(kind, _)| mine(kind)).map(|(_, alike)| alike.len()).sum()
    }

    /// Table of the outcomes.
    pub fn table(&self, target: &Target) -> String {
        let mut lines = vec![format!("| {}: {} cases | count |", target.name, self.cases)];
        lines.push("|---|---|".into());
        lines.extend(self.counts.iter().map(|(what, n)| format!("| {what} | {n} |")));
        if target.name == "worlds" {
            let class =
                |(name, begins): (&str, &[&str])| format!("| {name} | {} |", self.of_class(begins));
            lines.extend(CLASSES.map(class));
        }
        lines.push(format!("| **findings** | {} |", self.found()));
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
