//! Where a write can be made to be the last.
//!
//! What Codey writes to a session, to `.codey` and to files of the workspace goes through [`write()`], a rename there is
//! announced by [`before`]; both name the kind of thing. A process that was armed dies by SIGKILL at one chosen
//! [`Point`] of these, in the middle of a record if that is where it lies: so tests crash the real program wherever it could leave
//! something half done. Not armed, and in every release build, [`write()`] is `write_all` and [`before`] nothing.
//!
//! This crate must not know what is written, nor anything else of the workspace; it reads no environment, the program
//! that is to die arms itself.
//!
//! ```
//! let mut file = Vec::new();
//! codey_faults::write(&mut file, b"{}\n", "session")?;
//! assert_eq!(file, b"{}\n");
//! # Ok::<(), std::io::Error>(())
//! ```

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What an armed process does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Where it dies, if at all.
    pub die_at: Option<Point>,
    /// Gets a line `WHAT BYTES` for each write that is complete (0 bytes for a step), and at last `died WHAT PART`.
    pub ledger: Option<PathBuf>,
}

/// A place among all writes of a process. As text, `WHAT:NTH:PART`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The kind of write or step.
    pub what: String,
    /// Which one of that kind, from 0.
    pub nth: usize,
    /// How many of its bytes are still written; all if it has fewer. A step is not taken.
    pub part: usize,
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let point = || {
            let mut parts = text.split(':');
            let what = parts.next()?.to_owned();
            let mut number = || parts.next()?.parse().ok();
            Some(Self { what, nth: number()?, part: number()? })
        };
        point().ok_or_else(|| format!("{text:?} is no point; expected WHAT:NTH:PART"))
    }
}

struct Armed {
    die_at: Option<Point>,
    ledger: Option<File>,
    /// How many there were of each kind.
    counts: HashMap<&'static str, usize>,
}

/// Of the process and not of whoever writes: it is the process that dies, wherever in it the point is reached.
static ARMED: OnceLock<Mutex<Armed>> = OnceLock::new();

/// Arms this process; the first call counts. Does nothing in a release build.
///
/// # Errors
/// The ledger cannot be opened.
pub fn arm(faults: Faults) -> io::Result<()> {
    if cfg!(debug_assertions) {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        let ledger = faults.ledger.map(open).transpose()?;
        ARMED.get_or_init(|| Mutex::new(Armed { die_at: faults.die_at, ledger, counts: HashMap::new() }));
    }
    Ok(())
}

/// Writes all of `bytes`. In an armed process it may write only a part and never return.
///
/// # Errors
/// Those of the writer.
pub fn write(file: &mut (impl Write + ?Sized), bytes: &[u8], what: &'static str) -> io::Result<()> {
    let Some(armed) = armed() else { return file.write_all(bytes) };
    // Held during the write, so that the ledger tells the order on the disk.
    let mut armed = armed.lock().unwrap_or_else(PoisonError::into_inner);
    let part = armed.part_of(what).map(|part| part.min(bytes.len()));
    file.write_all(&bytes[..part.unwrap_or(bytes.len())])?;
    if part.is_none_or(|part| part == bytes.len()) {
        armed.tell(&format!("{what} {}\n", bytes.len()));
    }
    if let Some(part) = part {
        armed.die(what, part);
    }
    Ok(())
}

/// Announces a step that happens at once, as a rename does. An armed process may die here, before it.
pub fn before(what: &'static str) {
    if let Some(armed) = armed() {
        let mut armed = armed.lock().unwrap_or_else(PoisonError::into_inner);
        if armed.part_of(what).is_some() {
            armed.die(what, 0);
        }
        armed.tell(&format!("{what} 0\n"));
    }
}

fn armed() -> Option<&'static Mutex<Armed>> {
    if cfg!(debug_assertions) { ARMED.get() } else { None }
}

impl Armed {
    /// Counts one more of a kind; how much of it is still done if it is the last.
    fn part_of(&mut self, what: &'static str) -> Option<usize> {
        let count = self.counts.entry(what).or_default();
        let nth = std::mem::replace(count, *count + 1);
        self.die_at.as_ref().filter(|point| point.what == what && point.nth == nth).map(|point| point.part)
    }

    fn tell(&mut self, line: &str) {
        if let Some(ledger) = &mut self.ledger {
            // The loss is that of a test, which misses the line.
            let _ = ledger.write_all(line.as_bytes());
        }
    }

    fn die(&mut self, what: &str, part: usize) -> ! {
        self.tell(&format!("died {what} {part}\n"));
        // Nobody is refused a signal to itself.
        let _ = kill(Pid::this(), Signal::SIGKILL);
        loop {
            // The signal is on its way to this thread too.
            std::thread::park();
        }
    }
}
