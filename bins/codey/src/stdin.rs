//! What `-p` reads from stdin, and how long it waits for it.

use std::fs::File;
use std::io::{IsTerminal as _, Read};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::sync::mpsc;
use std::time::Duration;

/// Most that is read. Source: contract section 1.
const MOST_BYTES: u64 = 10 * 1024 * 1024;
/// How long a pipe may stay silent. Source: contract section 1.
const FIRST_BYTE: Duration = Duration::from_secs(3);

/// A prompt put together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) warnings: Vec<String>,
}

/// What kind of thing stdin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    File,
    /// A pipe or socket: who holds its other end may never write.
    Pipe,
    /// A terminal, `/dev/null` or another device.
    Nothing,
}

/// Puts the prompt together from the argument and stdin.
///
/// # Errors
/// One line for the user: no prompt, too much, or stdin cannot be read.
pub(crate) fn prompt(argument: Option<String>) -> Result<Prompt, String> {
    let argument = argument.filter(|text| text != "-");
    let source = source();
    let mut warnings = Vec::new();
    let piped = match (&argument, source) {
        (_, Source::Nothing) => None,
        (None, Source::File | Source::Pipe) | (Some(_), Source::File) => Some(read_all(std::io::stdin())?),
        (Some(_), Source::Pipe) => {
            let piped = read_unless_silent()?;
            if piped.is_none() {
                warnings.push(format!(
                    "nothing came on stdin for {} s, so it is not read; redirect it from /dev/null to skip the wait",
                    FIRST_BYTE.as_secs()
                ));
            }
            piped
        }
    };
    let piped = piped.map(|bytes| decode(bytes, &mut warnings)).transpose()?.filter(|text| !text.trim().is_empty());
    let text = match (argument, piped) {
        (Some(argument), Some(piped)) => format!("{argument}\n\n{piped}"),
        (Some(text), None) | (None, Some(text)) => text,
        (None, None) => String::new(),
    };
    if text.trim().is_empty() {
        return Err("there is no prompt; give one as an argument or on stdin".to_owned());
    }
    Ok(Prompt { text, warnings })
}

fn source() -> Source {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Source::Nothing;
    }
    let metadata = stdin.as_fd().try_clone_to_owned().and_then(|descriptor| File::from(descriptor).metadata());
    match metadata {
        Ok(metadata) if metadata.is_file() => Source::File,
        Ok(metadata) if metadata.file_type().is_fifo() || metadata.file_type().is_socket() => Source::Pipe,
        Ok(_) | Err(_) => Source::Nothing,
    }
}

fn read_all(reader: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = reader.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read stdin: {error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("stdin is larger than {} MiB; name a file in the prompt instead", MOST_BYTES >> 20));
    }
    Ok(bytes)
}

/// Reads in a thread that is left behind when nothing comes: a read cannot be cancelled.
fn read_unless_silent() -> Result<Option<Vec<u8>>, String> {
    let (sender, receiver) = mpsc::channel();
    let read = move || {
        let mut stdin = std::io::stdin().lock();
        let mut first = [0u8; 1];
        let began = loop {
            match stdin.read(&mut first) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        // The receiver may be gone by then; nobody misses what came too late.
        match began {
            Ok(0) => drop(sender.send(Ok(Vec::new()))),
            Ok(_) => {
                let _ = sender.send(Ok(first.to_vec()));
                let _ = sender.send(read_all(first.as_slice().chain(stdin)));
            }
            Err(error) => drop(sender.send(Err(format!("cannot read stdin: {error}")))),
        }
    };
    let started = std::thread::Builder::new().spawn(read);
    started.map_err(|error| format!("cannot read stdin: {error}"))?;
    match receiver.recv_timeout(FIRST_BYTE) {
        Ok(Ok(first)) if first.is_empty() => Ok(Some(first)),
        Ok(Ok(_)) => {
            receiver.recv().unwrap_or_else(|_| Err("cannot read stdin: the reader ended".to_owned())).map(Some)
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Text with a byte or two that cannot be read is still text; what holds NUL (a program, UTF-16) is not.
fn decode(bytes: Vec<u8>, warnings: &mut Vec<String>) -> Result<String, String> {
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(format!("stdin is no text: byte {at} is NUL; name a file in the prompt instead"));
    }
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
        let at = error.utf8_error().valid_up_to();
        warnings.push(format!("stdin is not valid UTF-8 (from byte {at}); what cannot be read is shown as \u{FFFD}"));
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    }))
}
