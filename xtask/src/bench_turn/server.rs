//! A Chat Completions server that answers at once and notes when.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::meter::now;

/// A request and its response. Times are since the epoch.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// When the last byte of the request was there.
    pub received: Duration,
    /// When the last byte of the response was written.
    pub answered: Duration,
    /// Bytes of the request's body.
    pub bytes: usize,
}

/// Answers the n-th request with the n-th response; the last one again when there are more.
pub struct Server {
    port: u16,
    notes: Arc<Mutex<Notes>>,
}

#[derive(Default)]
struct Notes {
    exchanges: Vec<Exchange>,
    connections: usize,
}

impl Server {
    /// Listens on a port of its own until this process ends.
    pub fn start(responses: Vec<Vec<u8>>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port to listen on")?;
        let port = listener.local_addr()?.port();
        let notes = Arc::<Mutex<Notes>>::default();
        let responses = Arc::new(responses);
        let shared = notes.clone();
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                lock(&shared).connections += 1;
                let (notes, responses) = (shared.clone(), responses.clone());
                // An error is the program's leaving; what it did not ask for is missed in the notes.
                thread::spawn(move || drop(serve(connection, &notes, &responses)));
            }
        });
        Ok(Self { port, notes })
    }

    /// What `CODEY_BASE_URL` has to be.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// All exchanges so far, and over how many connections they went.
    pub fn notes(&self) -> (Vec<Exchange>, usize) {
        let notes = lock(&self.notes);
        (notes.exchanges.clone(), notes.connections)
    }
}

fn serve(mut connection: TcpStream, notes: &Mutex<Notes>, responses: &[Vec<u8>]) -> Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(1 << 20, connection.try_clone()?);
    let mut body = Vec::new();
    loop {
        let Some(length) = content_length(&mut reader)? else { return Ok(()) };
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
        let received = now();
        let turn = lock(notes).exchanges.len();
        // Noted before the answer is written: the program may end as soon as it has it.
        lock(notes).exchanges.push(Exchange { received, answered: received, bytes: length });
        connection.write_all(&responses[turn.min(responses.len() - 1)])?;
        lock(notes).exchanges[turn].answered = now();
    }
}

/// Reads a request's head. `None`: the connection was closed.
fn content_length(reader: &mut impl BufRead) -> Result<Option<usize>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            return Ok(Some(length));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().context("a length is a number")?;
        }
    }
}

fn lock(notes: &Mutex<Notes>) -> std::sync::MutexGuard<'_, Notes> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}
