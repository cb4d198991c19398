//! What steps take: time on the clock, and CPU time with that of their processes.

use crate::task::Failure;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What a step took. CPU time is known on Linux only.
struct Cost {
    title: String,
    wall: Duration,
    cpu: Option<Duration>,
}

/// All steps so far, in their order.
static COSTS: Mutex<Vec<Cost>> = Mutex::new(Vec::new());

/// Runs a step, prints what it took, and keeps that for [`print_table`].
pub fn measured<T>(title: &str, step: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    println!("\n== {title}");
    let (start, before) = (Instant::now(), cpu_time());
    let result = step();
    let cpu = cpu_time().zip(before).map(|(after, before)| after.saturating_sub(before));
    let cost = Cost { title: title.to_owned(), wall: start.elapsed(), cpu };
    println!("   {title}: {:.1} s, {} s of CPU time", cost.wall.as_secs_f64(), seconds(cost.cpu));
    if let Ok(mut costs) = COSTS.lock() {
        costs.push(cost);
    }
    result
}

/// Prints a line for each step so far, and the sum since `start`, when this program started.
pub fn print_table(start: Instant) {
    if let Ok(costs) = COSTS.lock() {
        println!("\n{}", table(&costs, start.elapsed(), cpu_time()).join("\n"));
    }
}

/// A head, a line for each step, one for what is outside of steps, and the sum.
fn table(costs: &[Cost], wall: Duration, cpu: Option<Duration>) -> Vec<String> {
    let known: Duration = costs.iter().filter_map(|cost| cost.cpu).sum();
    let outside = Cost {
        title: "(outside of steps: this program's own build, short commands)".to_owned(),
        wall: wall.saturating_sub(costs.iter().map(|cost| cost.wall).sum()),
        cpu: cpu.map(|cpu| cpu.saturating_sub(known)),
    };
    let minutes =
        cpu.map_or(String::new(), |cpu| format!(": {:.1} CPU minutes", cpu.as_secs_f64() / 60.0));
    let sum = Cost { title: format!("all{minutes}"), wall, cpu };
    let line = |Cost { title, wall, cpu }: &Cost| {
        format!("{:>9.1} {:>9}  {title}", wall.as_secs_f64(), seconds(*cpu))
    };
    let head = format!("{:>9} {:>9}  step", "wall s", "CPU s");
    [head].into_iter().chain(costs.iter().chain([&outside, &sum]).map(line)).collect()
}

fn seconds(time: Option<Duration>) -> String {
    time.map_or("?".to_owned(), |time| format!("{:.1}", time.as_secs_f64()))
}

/// CPU time of this program and of all its processes that have ended.
fn cpu_time() -> Option<Duration> {
    cpu_time_of(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// Sum of `utime`, `stime`, `cutime` and `cstime` of a line of `/proc/PID/stat`.
fn cpu_time_of(stat: &str) -> Option<Duration> {
    // the second field is the program's name in parentheses, which may contain spaces
    let (_, fields) = stat.rsplit_once(')')?;
    let times: Vec<&str> = fields.split_whitespace().skip(11).take(4).collect();
    let [_, _, _, _] = times[..] else { return None };
    let ticks: Option<u64> = times.iter().map(|time| time.parse::<u64>().ok()).sum();
    // Linux counts in hundredths of a second for every program
    Some(Duration::from_millis(10 * ticks?))
}

#[cfg(test)]
mod tests {
    use super::{Cost, cpu_time_of, table};
    use std::time::Duration;

    #[test]
    fn cpu_time_includes_processes_that_ended() {
        let line = "7 (a (b) c) S 1 7 7 0 -1 4194304 94 0 0 0 150 25 1000 100 20 0 1 0 5 9 9";
        assert_eq!(cpu_time_of(line), Some(Duration::from_millis(12_750)));
        assert_eq!(cpu_time_of("7 (a) S 1 7"), None);
    }

    #[test]
    fn what_is_outside_of_steps_has_a_line_of_its_own() {
        let second = Duration::from_secs;
        let cost = |title: &str, wall, cpu| Cost {
            title: title.to_owned(),
            wall: second(wall),
            cpu: Some(second(cpu)),
        };
        let costs = [cost("lint", 20, 30), cost("tests", 50, 80)];
        let lines = table(&costs, second(75), Some(second(114)));
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[1], "     20.0      30.0  lint");
        assert!(lines[3].starts_with("      5.0       4.0  (outside"), "{lines:?}");
        assert_eq!(lines[4], "     75.0     114.0  all: 1.9 CPU minutes");
        assert_eq!(table(&costs, second(75), None)[4], "     75.0         ?  all");
    }
}
