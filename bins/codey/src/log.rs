//! The log: JSON lines in a file, never on stdout. The file is opened by the first line.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::Level;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

/// Files that are kept, one a day.
const KEPT_FILES: usize = 7;

/// Starts logging into `folder`; `verbose` as given on the command line. `CODEY_LOG` sets the level otherwise.
pub(crate) fn start(folder: Option<&Path>, verbose: u8) {
    let level = match verbose {
        0 => std::env::var("CODEY_LOG").ok().filter(|level| is_level(level.as_ref())).unwrap_or("warn".to_owned()),
        1 => "debug".to_owned(),
        _ => "trace".to_owned(),
    };
    // Only our own crates: a library's trace may hold what was sent.
    let filter = EnvFilter::try_new(
        ["llm", "protocol", "providers", "tools", "session", "ctx", "agent", "config", "app", "print"]
            .map(|name| format!("codey_{name}={level}"))
            .join(",")
            + &format!(",codey={level}"),
    );
    let file = folder.map(|folder| fmt::layer().json().with_writer(LazyFile::new(folder)));
    let mirror = (verbose > 0).then(|| {
        let writer = io::stderr;
        fmt::layer()
            .without_time()
            .with_ansi(false)
            .with_writer(writer)
            .with_filter(LevelFilter::from_level(Level::WARN))
    });
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("warn"));
    // Fails only if a logger is set already, which the first caller's log shows.
    let _ = tracing_subscriber::registry().with(filter).with(file).with(mirror).try_init();
}

/// Whether `CODEY_LOG` names a level; an empty one is none at all.
pub(crate) fn is_level(text: &OsStr) -> bool {
    text.to_str().is_some_and(|text| !text.is_empty() && text.parse::<LevelFilter>().is_ok())
}

/// Opens the log file at the first line.
#[derive(Clone)]
struct LazyFile {
    folder: PathBuf,
    file: Arc<Mutex<Option<Option<File>>>>,
}

impl LazyFile {
    fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), file: Arc::default() }
    }

    /// The file of today, also when the day ends meanwhile.
    fn open(folder: &Path) -> Option<File> {
        fs::create_dir_all(folder).ok()?;
        let name = jiff::Timestamp::now().strftime("codey.%Y-%m-%d.log").to_string();
        let file = File::options().append(true).create(true).open(folder.join(name)).ok()?;
        remove_old(folder);
        Some(file)
    }
}

fn remove_old(folder: &Path) {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_log = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.starts_with(b"codey.") && name.ends_with(b".log")
    };
    let mut logs: Vec<PathBuf> = paths.filter(is_log).collect();
    logs.sort();
    for old in logs.iter().rev().skip(KEPT_FILES) {
        // It takes room and does no harm.
        let _ = fs::remove_file(old);
    }
}

impl Write for LazyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = file.get_or_insert_with(|| Self::open(&self.folder)) {
            // A log that cannot be written is nobody's reason to stop, and as an error it would be told on stderr.
            let _ = open.write_all(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for LazyFile {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_files_are_kept_and_nothing_else_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let names = (1..=9).map(|day| format!("codey.2025-01-0{day}.log"));
        for name in names.clone().chain(["codey.log.txt".to_owned()]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        LazyFile::new(folder.path()).write_all(b"now\n").unwrap();
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut left: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        let today = left.remove(6);
        assert_eq!(fs::read_to_string(folder.path().join(today)).unwrap(), "now\n");
        assert_eq!(left, names.skip(3).chain(["codey.log.txt".to_owned()]).collect::<Vec<_>>());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_log_on_a_full_disk_is_no_error() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut log = LazyFile { folder: PathBuf::new(), file: Arc::new(Mutex::new(Some(Some(full)))) };
        log.write_all(b"lost\n").unwrap();
    }
}
