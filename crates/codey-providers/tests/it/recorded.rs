//! Recorded answers with their own framing, replayed on a socket.

use std::fs;
use std::path::{Path, PathBuf};

use codey_llm::{ProviderErrorKind, StopReason};
use codey_providers::Api;
use codey_testkit::{Reply, ScriptedServer};

use crate::{ask, endpoint, hello};

fn raw_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/wire");
    let servers = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = servers.flat_map(|server| fs::read_dir(server).unwrap().map(|entry| entry.unwrap().path()));
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "raw")).collect();
    files.sort();
    files
}

#[tokio::test]
async fn every_raw_recording_is_answered_like_its_body_or_is_known_as_cut() {
    let files = raw_files();
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let api = if name.starts_with("anthropic") || file.to_string_lossy().contains("vandamme") {
            Api::Anthropic
        } else {
            Api::OpenAi
        };
        // Twice: the body alone, and the whole with head and framing.
        let body = fs::read(file.with_extension("sse")).unwrap();
        let server = ScriptedServer::start(vec![Reply::sse(body), Reply::raw(fs::read(&file).unwrap())]);
        let unframed = ask(endpoint(api, &server), hello()).await;
        let framed = ask(endpoint(api, &server), hello()).await;
        match (&unframed.end, &framed.end) {
            (Ok(unframed), Ok(framed)) => {
                assert_eq!(unframed, framed, "{name}");
                assert!(!matches!(framed.1, StopReason::Other(_)), "{name}");
            }
            (Err(unframed), Err(framed)) => {
                assert!(name.contains("killed"), "{name}");
                assert_eq!(unframed.kind, framed.kind, "{name}");
                let kinds = [ProviderErrorKind::Network, ProviderErrorKind::ServerError];
                assert!(kinds.contains(&framed.kind), "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(unframed.events, framed.events, "{name}");
    }
}
