//! Servers that are not there, are no model servers, or misbehave: one clear line, exit code 1, no hang, nothing lost.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::thread::JoinHandle;

use codey_llm::Block;
use codey_testkit::{Reply, ScriptedServer, TempWorkspace, check_openai, openai_sse};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::codey::{Api, Codey, Ran, exit, says, session_file};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

/// Asks an endpoint that gives up on silence after `idle`.
fn codey(workspace: &TempWorkspace, url: &str, idle: &str) -> Codey {
    let config = format!(
        "[model]\ndefault = 'm'\n[[endpoint]]\nname = 'mine'\nbase_url = '{url}/v1'\napi_key = 'env:MINE'\nidle_timeout = '{idle}'\n"
    );
    Codey::new(workspace.path()).config(&config).env("MINE", "sesame-1").args(&["-p", "--mode", "json", "hi"])
}

/// Replies that are tried again, so that the next one is the last try. The real waits between tries are long.
fn three_tries() -> Vec<Reply> {
    vec![Reply::status(500).header("retry-after-ms", "1"); 3]
}

/// The run fails with this code, message (behind the address) and hint; afterwards the session goes on.
fn check(replies: Vec<Reply>, code: &str, message: &str, hint: &str) {
    // What hangs has another code.
    check_within("90s", replies, code, message, hint);
}

fn check_within(idle: &str, replies: Vec<Reply>, code: &str, message: &str, hint: &str) {
    let server = ScriptedServer::start(replies);
    let workspace = TempWorkspace::new(&[]);
    let ran = codey(&workspace, &server.url(), idle).run();
    let end = ran.of_type("run_end").pop().unwrap();
    let expected = if code == "config" { 2 } else { 1 };
    assert_eq!((ran.code, &end["outcome"]["code"]), (expected, &json!(code)), "{ran:?}");
    let said = ran.complaint().replace(&format!("{}/v1/chat/completions", server.url()), "URL");
    assert!(said.contains(message) && said.contains(hint), "expected {message:?} and {hint:?}: {said}");
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("sesame"), "{ran:?}");
    assert_eq!(server.unplayed(), 0, "{message}");
    assert_goes_on(&workspace);
}

/// The session can be gone on with, and what is sent then is valid.
fn assert_goes_on(workspace: &TempWorkspace) {
    session_file(workspace);
    let server = ScriptedServer::start(vec![says(Api::OpenAi, "going on")]);
    let ran = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "--continue", "go on"]).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "going on\n"), "{ran:?}");
    check_openai(&server.requests()[0].json()).unwrap();
}

fn last_try(reply: Reply, code: &str, message: &str, hint: &str) {
    let mut replies = three_tries();
    replies.push(reply);
    check(replies, code, message, hint);
}

fn begun() -> String {
    let whole = openai_sse(
        &codey_llm::Message::assistant(vec![Block::text("half an answer")]),
        &codey_llm::StopReason::EndTurn,
        codey_llm::Usage::default(),
    );
    whole.split_inclusive("\n\n").find(|event| event.contains("half")).unwrap().to_owned()
}

#[test]
fn silence_ends_with_the_idle_limit_wherever_it_begins() {
    let check = |replies: Vec<Reply>, tries: &str| {
        let message = format!("URL sent nothing for 0.4 s{tries}. ");
        check_within("400ms", replies, "stalled", &message, "raise idle_timeout of endpoint `mine`.");
    };
    let silent = |text: String| Reply::raw(text).hang();
    check(vec![Reply::silence(); 2], " (2 tries)");
    check(vec![silent(HEAD.to_owned()); 2], " (2 tries)");
    check(vec![silent(format!("{HEAD}\r\n")); 2], " (2 tries)");
    check(vec![silent(format!("{HEAD}\r\n{}", begun()))], "");
}

#[test]
fn connections_that_break_are_a_network_failure() {
    let again = "Check the connection and try again.";
    let reset = || Reply::raw("HTTP/1.1 200 OK\r\ncont").reset();
    last_try(reset(), "network", "the connection to URL broke: Connection reset by peer (4 tries). ", again);
    let lying = Reply::raw(format!("{HEAD}content-length: 9999\r\n\r\n{}", begun()));
    check(vec![lying], "network", "the connection to URL broke: ", again);
    let short = Reply::raw(format!("{HEAD}content-length: 9\r\n\r\n{}", begun()));
    last_try(short, "network", "URL closed the connection before the answer was complete (4 tries). ", "try again");
    let broken = Reply::raw(format!("{HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n"));
    last_try(broken, "network", "the connection to URL broke: ", again);
    let gzip = Reply::raw(format!("{HEAD}content-encoding: gzip\r\n\r\nthis is not compressed"));
    last_try(gzip, "network", "the connection to URL broke: ", again);
    let empty = "URL answered 200 with an empty body (4 tries). ";
    last_try(Reply::sse(""), "network", empty, "see the server's log");
}

#[test]
fn what_speaks_no_http_is_said_to() {
    let endless: String = (0..2_000).map(|n| format!("x-{n}: {}\r\n", "y".repeat(500))).collect();
    for (text, reason) in [
        ("SSH-2.0-OpenSSH_9.9\r\n".to_owned(), "invalid HTTP version parsed"),
        ("HTTP/1.1 abc\r\n\r\n".to_owned(), "invalid HTTP status-code parsed"),
        (format!("{HEAD}content-length: many\r\n\r\n"), "invalid content-length parsed"),
        (format!("{HEAD}a\u{1b}b\r\n\r\n"), "invalid HTTP header parsed"),
        (format!("{HEAD}{endless}"), "message head is too large"),
    ] {
        let message = format!("URL does not answer as a web server does: {reason} (4 tries). ");
        last_try(Reply::raw(text), "network", &message, "Check base_url (http or https, host, port).");
    }
}

#[test]
fn odd_statuses_are_named() {
    let reply = |status: u16| Reply::raw(format!("HTTP/1.1 {status} Odd\r\ncontent-length: 0\r\n\r\n"));
    for status in [101, 204, 206, 418, 451, 600, 999] {
        let hint = "Check model and settings of endpoint `mine`.";
        check(vec![reply(status)], "bad_request", &format!("URL answered {status}. "), hint);
    }
    for status in [304, 305] {
        check(
            vec![reply(status)],
            "config",
            &format!("URL answered {status}. "),
            "Check the settings of endpoint `mine`.",
        );
    }
    // An announcement without the answer it announces.
    last_try(reply(199), "network", "the connection to URL broke: ", "try again");
}

#[test]
fn a_key_does_not_follow_a_redirect() {
    let elsewhere = ScriptedServer::start(vec![says(Api::OpenAi, "stolen")]);
    let target = elsewhere.url().replace("http://", "http://u:sesame-2@") + "/x?sesame=3";
    let relative = Reply::status(307).header("location", "../y?sesame=3");
    check(vec![relative], "config", "URL answered 307. ", "/v1/y; set base_url to where it leads.");
    for status in [301, 302, 303, 307, 308] {
        let reply = Reply::status(status).header("location", &target);
        let hint = format!("The server redirects to {}/x; set base_url to where it leads.", elsewhere.url());
        check(vec![reply], "config", &format!("URL answered {status}. "), &hint);
    }
    assert_eq!((elsewhere.connections(), elsewhere.requests().len()), (0, 0));
}

#[test]
fn what_is_no_stream_of_this_api_is_shown_in_one_line() {
    let html = |title: &str| {
        let page = format!("<!doctype html><html><head><title>{title}</title></head></html>");
        Reply::status(200).header("content-type", "text/html").body(page)
    };
    let title = "URL answered with a web page (\"Log\\u{1b}[2J in\") instead of a stream. Check base_url";
    check(vec![html("Log\u{1b}[2J\n in")], "bad_request", title, "it leads to a web page, not to an API.");
    let together = "Check that base_url and api of the endpoint belong together.";
    for (data, shown) in [
        ("{\"choices\":[{", "URL sent what is not of this API: {\"choices\":[{. "),
        ("null", "URL sent what is not of this API: null. "),
        ("\u{1b}]0;owned\u{7}", "URL sent what is not of this API: \\u{1b}]0;owned\\u{7}. "),
    ] {
        check(vec![Reply::sse(format!("data: {data}\n\ndata: [DONE]\n\n"))], "bad_request", shown, together);
    }
    check(vec![Reply::sse(b"data: \xff\xfe\n\n".to_vec())], "bad_request", "the stream is not UTF-8. ", together);
    let other = "data: {\"type\":\"message_start\",\"message\":{}}\n\n";
    let shown = "URL answered in the API `anthropic`, which this endpoint is not set to. ";
    check(
        vec![Reply::sse(other)],
        "bad_request",
        shown,
        "Set api = \"anthropic\" for endpoint `mine` (CODEY_API=anthropic).",
    );
    let words = json!({"error": {"message": format!("no\u{1b}[2J\r\n\u{202e}{}", "x".repeat(9_000))}});
    let shown = format!("URL answered 400: no\\u{{1b}}[2J \\u{{202e}}{}…. Check model", "x".repeat(300));
    check(
        vec![Reply::json(400, &words)],
        "bad_request",
        &shown[..60],
        "…. Check model and settings of endpoint `mine`.",
    );
}

#[test]
fn floods_are_cut_off() {
    let hint = "Check base_url: this is no answer of a model.";
    let message = "URL sent 16 MiB without a complete event. ";
    let comments = ": keep-alive\n\n".repeat((17 << 20) / 14);
    check(vec![Reply::sse(comments)], "bad_request", message, hint);
    let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(17 << 20));
    check(vec![Reply::sse(event)], "bad_request", message, hint);
    let zipped = |status| Reply::status(status).header("content-encoding", "gzip").body(gzip_bomb(64 << 20));
    check(vec![zipped(200).header("content-type", "text/event-stream")], "bad_request", message, hint);
    check(vec![zipped(400)], "bad_request", "URL answered 400: \\u{0}\\u{0}", "…. Check model and settings of ");
}

/// A compressed body of zeros, `bytes` long when it is unpacked and five hundred times smaller before.
fn gzip_bomb(bytes: usize) -> Vec<u8> {
    // Deflate with fixed codes: the last block (1), fixed (10), the literal 0, then "258 bytes from 1 byte ago" again
    // and again. Source: RFC 1951, sections 3.2.3 to 3.2.6. The checksum at the end is never reached.
    let repeat = "1100010100000";
    let bits = "110".chars().chain("00110000".chars()).chain(repeat.chars().cycle().take(repeat.len() * (bytes / 258)));
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut byte, mut filled) = (0u8, 0);
    for bit in bits {
        byte |= u8::from(bit == '1') << filled;
        filled += 1;
        if filled == 8 {
            packed.push(byte);
            (byte, filled) = (0, 0);
        }
    }
    packed.push(byte);
    packed
}

#[test]
fn waits_that_are_too_long_are_not_waited() {
    for (name, value, said) in [
        ("retry-after", "86400", "it asks to wait 1440 min. Try again after "),
        ("retry-after", "99999999999999999999999", "; it asks to wait more than a year. Try again by hand"),
        ("retry-after", "1e300", "; it asks to wait more than a year. "),
        ("retry-after", "Tue, 01 Jan 2999 00:00:00 GMT", "; it asks to wait more than a year. "),
        ("retry-after-ms", "9e99", "; it asks to wait more than a year. "),
    ] {
        for (status, code) in [(429, "rate_limit"), (503, "overloaded")] {
            let reply = Reply::status(status).header(name, value);
            check(vec![reply], code, said, "or choose another endpoint.");
        }
    }
}

/// Accepts `answers` connections and answers each with a failure that is tried again at once; then nobody listens.
fn soon_gone(answers: usize) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let mut listener = Some(listener);
        for answer in 1..=answers {
            let (mut socket, _) = listener.as_ref().unwrap().accept().unwrap();
            let mut reader = BufReader::new(socket.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                length =
                    line.to_lowercase().strip_prefix("content-length:").map_or(length, |n| n.trim().parse().unwrap());
                line.clear();
            }
            reader.take(length).read_to_end(&mut Vec::new()).unwrap();
            if answer == answers {
                drop(listener.take());
            }
            socket
                .write_all(b"HTTP/1.1 500 No\r\nretry-after-ms: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
        }
    });
    (url, thread)
}

#[test]
fn a_server_that_is_not_there_is_a_network_failure() {
    let (url, thread) = soon_gone(3);
    let workspace = TempWorkspace::new(&[]);
    let ran = codey(&workspace, &url, "90s").run();
    thread.join().unwrap();
    assert_eq!((ran.code, &ran.of_type("run_end")[0]["outcome"]["code"]), (1, &json!("network")), "{ran:?}");
    let said = format!("codey: {url}/v1/chat/completions refused the connection (4 tries). ");
    assert_eq!(ran.complaint(), said + "Check that the server runs and that base_url has its port.");
    assert_goes_on(&workspace);
}

/// The first try fails with these words, and a signal ends the wait for the next one.
fn check_first_try(url: &str, said: &str) {
    let workspace = TempWorkspace::new(&[]);
    let mut codey = Codey::new(workspace.path()).asking_at(&format!("{url}/v1")).args(&["-p", "hi"]);
    let mut child = codey.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("try 1 of 4 failed, next in ") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "{url}: it ended without a word of the next try");
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(exit(child.wait().unwrap()), 3, "{rest}");
    assert!(line.starts_with(&format!("codey: {said}; try 1 of 4")), "{line}");
    let ran = Ran { code: 3, stdout: String::new(), stderr: line + &rest };
    assert_eq!(ran.complaint(), "codey: interrupted. Go on with --continue.");
    // The same where a model is looked for: asked once.
    let unnamed =
        Codey::new(workspace.path()).asking_at(&format!("{url}/v1")).env("CODEY_MODEL", "").args(&["-p", "hi"]).run();
    let said = said.replace("/chat/completions", "/models");
    unnamed
        .assert_refused(&format!("no model is named, and the endpoint does not list any: {said}. Name a model with "));
}

#[test]
fn a_host_without_an_address_is_said_to_have_none() {
    // A name that no resolver asks the network for: a part of it is longer than parts may be.
    let url = &format!("http://{}.invalid", "x".repeat(64));
    let workspace = TempWorkspace::new(&[]);
    // What the system says of it differs from one machine to the next.
    let unnamed = Codey::new(workspace.path()).asking_at(url).env("CODEY_MODEL", "").args(&["-p", "hi"]).run();
    let before =
        &format!("no model is named, and the endpoint does not list any: cannot find the host of {url}/models: ");
    unnamed.assert_refused(before);
    let reason = unnamed.complaint().split(before.as_str()).nth(1).unwrap().split(". Name a model").next().unwrap();
    check_first_try(url, &format!("cannot find the host of {url}/v1/chat/completions: {reason}"));
}

#[test]
fn a_server_without_encryption_is_said_to_have_none() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Lives as long as the test's process.
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut hello = [0; 512];
            let _ = socket.read(&mut hello).unwrap();
            socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
        }
    });
    check_first_try(
        &format!("https://{address}"),
        &format!("https://{address}/v1/chat/completions does not speak TLS"),
    );
}
