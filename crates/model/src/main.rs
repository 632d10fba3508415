//! `cargo xtask model` runs this: every exploration, one row each. It exits with 1 when a property
//! fails in a configuration, or when a planted defect is not found.

// It reports to `cargo xtask` and to people.
#![allow(clippy::print_stdout)]

use std::process::ExitCode;

use graphwrite_model::{
    Found, Job, Purpose, Shown, header, is_as_expected, jobs, row, run_all, title_of_defects,
};

const USAGE: &str = "\
usage: graphwrite-model [--json] [--trace] [words]

  --json     one JSON object per line instead of rows
  --trace    with each failure, the steps of the shortest run that shows it
  words      only what has them in its configuration or its defect";

/// What is asked for.
struct Options {
    shown: Shown,
    traces: bool,
    words: String,
}

fn main() -> ExitCode {
    let options = options(std::env::args().skip(1));
    let Some(options) = options else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let wanted: Vec<Job> = jobs().into_iter().filter(|job| is_wanted(job, &options)).collect();
    if wanted.is_empty() {
        println!("nothing is called `{}`", options.words);
        return ExitCode::from(2);
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(2);
    let (mut unexpected, mut last) = (0, None);
    run_all(&wanted, threads, |job, found| {
        tell(job, found, &options, &mut last);
        unexpected += usize::from(!is_as_expected(job, found));
    });
    if unexpected == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options(arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options { shown: Shown::Rows, traces: false, words: String::new() };
    for argument in arguments {
        match argument.as_str() {
            "--json" => options.shown = Shown::Json,
            "--trace" => options.traces = true,
            other if other.starts_with('-') => return None,
            words => options.words = format!("{} {words}", options.words).trim().to_owned(),
        }
    }
    Some(options)
}

fn is_wanted(job: &Job, options: &Options) -> bool {
    let defect = match job.purpose {
        Purpose::Sound => "",
        Purpose::Defect(text) => text,
    };
    job.configuration.contains(&options.words) || defect.contains(&options.words)
}

/// Prints one result, below the head of its table.
fn tell(job: &Job, found: &Found, options: &Options, last: &mut Option<bool>) {
    let is_sound = job.purpose == Purpose::Sound;
    if options.shown == Shown::Rows && last.replace(is_sound) != Some(is_sound) {
        println!("{}", if is_sound { header() } else { title_of_defects() });
    }
    println!("{}", row(job, found, options.shown));
    let unexpected = is_sound && !is_as_expected(job, found);
    for failure in found.failures.iter().filter(|_| options.traces || unexpected) {
        println!("  {} after", failure.property);
        failure.trace.iter().for_each(|step| println!("    {step}"));
    }
}
