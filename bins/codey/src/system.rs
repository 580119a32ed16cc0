//! The file of `--system`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codey_protocol::StartError;

/// Largest file that is taken: no model has room for a larger one beside anything else.
const MOST_BYTES: u64 = 1024 * 1024;
/// How long reading may take; the file may be a pipe (`<(command)`) that nobody writes to.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads the text. Cancelled by drop: a read that waits is left behind.
///
/// # Errors
/// It cannot be read, is no text, holds nothing or too much, or its writer is silent.
pub(crate) async fn read(path: PathBuf) -> Result<String, StartError> {
    read_within(path, PATIENCE).await
}

async fn read_within(path: PathBuf, patience: Duration) -> Result<String, StartError> {
    let shown = path.display().to_string();
    // A read cannot be cancelled, so it has a thread of its own.
    let bytes = tokio::time::timeout(patience, tokio::task::spawn_blocking(move || bytes_of(&path))).await;
    let text = match bytes {
        Ok(Ok(Ok(bytes))) => text_of(bytes),
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Err(_)) => Err("reading it failed".to_owned()),
        Err(_) => Err(format!("it did not end within {} s", patience.as_secs())),
    };
    text.map_err(|why| StartError::config(format!("cannot use {shown}: {why}"), "Name a text file with --system."))
}

fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it is larger than {} MiB", MOST_BYTES >> 20));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| format!("it is not valid UTF-8 (from byte {})", error.utf8_error().valid_up_to()))?;
    match text.find('\0') {
        Some(at) => Err(format!("it is no text: byte {at} is NUL")),
        None if text.trim().is_empty() => Err("it is empty".to_owned()),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(content: &[u8], expected: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("system.md");
        std::fs::write(&path, content).unwrap();
        let read = read(path.clone()).await.map_err(|error| error.message);
        let expected = expected.map(str::to_owned);
        assert_eq!(read, expected.map_err(|why| format!("cannot use {}: {why}", path.display())));
    }

    #[tokio::test]
    async fn only_a_text_of_bearable_size_is_taken() {
        check(b"Be brief.\n", Ok("Be brief.\n")).await;
        check(b"a\xff", Err("it is not valid UTF-8 (from byte 1)")).await;
        check(b"a\0", Err("it is no text: byte 1 is NUL")).await;
        check(b" \n", Err("it is empty")).await;
        check(&vec![b'x'; MOST_BYTES as usize + 1], Err("it is larger than 1 MiB")).await;
    }

    #[tokio::test]
    async fn a_source_without_end_is_not_read_for_ever() {
        let error = read("/dev/zero".into()).await.unwrap_err();
        assert_eq!(error.message, "cannot use /dev/zero: it is larger than 1 MiB");
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_is_not_waited_for_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let error = runtime.block_on(read_within(path.clone(), Duration::from_millis(20))).unwrap_err();
        assert_eq!(error.message, format!("cannot use {}: it did not end within 0 s", path.display()));
        // The thread still waits.
        runtime.shutdown_background();
    }
}
