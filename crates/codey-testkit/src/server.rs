//! A model server that plays a script.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// One scripted reply: a head, and what happens to the body step by step.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    is_raw: bool,
    before_head: Vec<Step>,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    Hang,
    Cut,
    Reset,
}

impl Reply {
    /// A reply with this status and nothing else.
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), is_raw: false, before_head: Vec::new(), steps: Vec::new() }
    }

    /// A whole event stream.
    pub fn sse(text: impl Into<Vec<u8>>) -> Self {
        Self::status(200).header("content-type", "text/event-stream").body(text)
    }

    /// A JSON document.
    pub fn json(status: u16, document: &Value) -> Self {
        Self::status(status).header("content-type", "application/json").body(document.to_string())
    }

    /// Bytes for the socket, head and framing included; the connection closes after them.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { is_raw: true, ..Self::status(200).body(bytes) }
    }

    /// Never answers: not even a head is sent.
    pub fn silence() -> Self {
        let mut reply = Self::status(200);
        reply.before_head.push(Step::Hang);
        reply
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends more of the body.
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Send(bytes.into()));
        self
    }

    /// Sends more of the body one byte at a time, each in a chunk of its own.
    pub fn bytewise(mut self, bytes: &[u8]) -> Self {
        self.steps.extend(bytes.iter().map(|byte| Step::Send(vec![*byte])));
        self
    }

    /// Waits before going on.
    pub fn wait(mut self, delay: Duration) -> Self {
        self.steps.push(Step::Wait(delay));
        self
    }

    /// Keeps the connection open and sends nothing more.
    pub fn hang(mut self) -> Self {
        self.steps.push(Step::Hang);
        self
    }

    /// Closes the connection without ending the body.
    pub fn cut(mut self) -> Self {
        self.steps.push(Step::Cut);
        self
    }

    /// Resets the connection.
    pub fn reset(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Number of the connection it came on, from 0.
    pub connection: usize,
    /// `POST`, say.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Recorded {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON. Strict: broken UTF-8 is a failed test.
    pub fn json(&self) -> Value {
        let text = std::str::from_utf8(&self.body).expect("a request body is UTF-8");
        serde_json::from_str(text).expect("a request body is JSON")
    }
}

/// A server on 127.0.0.1 that plays its replies in order, one a request, and keeps every request.
///
/// It runs on a thread of its own, so paused time or a blocked test does not stop it. A request beyond the script is
/// answered with status 500. Dropping it closes every connection.
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Recorded>>,
    connections: Mutex<usize>,
}

impl ScriptedServer {
    /// Starts a server that plays `replies`.
    pub fn start(replies: Vec<Reply>) -> Self {
        let listener = StdListener::bind("127.0.0.1:0").expect("a free port on 127.0.0.1");
        listener.set_nonblocking(true).expect("a socket can be non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared { replies: Mutex::new(replies.into()), ..Shared::default() });
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime can start").block_on(async {
                    tokio::select! {
                        () = serve(listener, shared) => {}
                        _ = stopped => {}
                    }
                });
            }
        });
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, oldest first.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.requests).clone()
    }

    /// How many connections were opened so far.
    pub fn connections(&self) -> usize {
        *lock(&self.shared.connections)
    }

    /// How many replies were not asked for yet.
    pub fn unplayed(&self) -> usize {
        lock(&self.shared.replies).len()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended already; then nobody listens, and nothing is lost.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the server was printed where it happened; the test fails by what it did not get.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: StdListener, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).expect("a runtime takes the socket");
    // Dropped with this future, and with it every connection.
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        let number = {
            let mut count = lock(&shared.connections);
            *count += 1;
            *count - 1
        };
        connections.spawn(converse(socket, number, Arc::clone(&shared)));
    }
}

/// Answers the requests of one connection until one side closes it.
async fn converse(mut socket: TcpStream, connection: usize, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer, connection).await {
        lock(&shared.requests).push(request);
        let reply = lock(&shared.replies).pop_front();
        let reply = reply.unwrap_or_else(|| Reply::status(500).body("the script has no further reply"));
        if !play(&mut socket, reply).await {
            return;
        }
    }
}

/// Reads a request with its body; what follows stays in the buffer.
async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>, connection: usize) -> Option<Recorded> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut head = httparse::Request::new(&mut headers);
        if let httparse::Status::Complete(head_len) = head.parse(buffer).expect("a client sends HTTP") {
            let text = |header: &httparse::Header<'_>| String::from_utf8_lossy(header.value).into_owned();
            let headers: Vec<(String, String)> =
                head.headers.iter().map(|header| (header.name.to_ascii_lowercase(), text(header))).collect();
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length = length.map_or(0, |(_, value)| value.parse().expect("content-length is a number"));
            let method = head.method.unwrap_or_default().to_owned();
            let path = head.path.unwrap_or_default().to_owned();
            while buffer.len() < head_len + length {
                if socket.read_buf(buffer).await.ok()? == 0 {
                    return None;
                }
            }
            let body = buffer[head_len..head_len + length].to_vec();
            buffer.drain(..head_len + length);
            return Some(Recorded { connection, method, path, headers, body });
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

/// Plays a reply; whether the connection may be used again.
async fn play(socket: &mut TcpStream, reply: Reply) -> bool {
    let head = if reply.is_raw { Vec::new() } else { head_of(&reply) };
    let steps = reply.before_head.into_iter().map(|step| (step, false));
    let steps = steps.chain([(Step::Send(head), false)]);
    for (step, is_body) in steps.chain(reply.steps.into_iter().map(|step| (step, !reply.is_raw))) {
        match step {
            Step::Send(bytes) if bytes.is_empty() => {}
            Step::Send(bytes) => {
                let framed = if is_body { chunk(&bytes) } else { bytes };
                // A client that has gone away is what some tests are about.
                if socket.write_all(&framed).await.is_err() || socket.flush().await.is_err() {
                    return false;
                }
            }
            Step::Wait(delay) => tokio::time::sleep(delay).await,
            Step::Hang => std::future::pending().await,
            Step::Cut => return false,
            Step::Reset => {
                let _ = socket.set_zero_linger();
                return false;
            }
        }
    }
    !reply.is_raw && socket.write_all(b"0\r\n\r\n").await.is_ok()
}

fn head_of(reply: &Reply) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    framed
}
