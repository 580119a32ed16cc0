//! The log: JSON lines in a file, never on stdout. The file is opened by the first line.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::Level;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

/// Days of logs that are kept.
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
    file: Arc<Mutex<Option<Option<RollingFileAppender>>>>,
}

impl LazyFile {
    fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), file: Arc::default() }
    }

    fn open(folder: &Path) -> Option<RollingFileAppender> {
        // The appender complains on stderr about a folder that does not exist yet.
        std::fs::create_dir_all(folder).ok()?;
        let builder = RollingFileAppender::builder().rotation(Rotation::DAILY).filename_prefix("codey");
        builder.filename_suffix("log").max_log_files(KEPT_FILES).build(folder).ok()
    }
}

impl Write for LazyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match file.get_or_insert_with(|| Self::open(&self.folder)) {
            Some(open) => open.write(bytes),
            // A log that cannot be written is nobody's reason to stop.
            None => Ok(bytes.len()),
        }
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
