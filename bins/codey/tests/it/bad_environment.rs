//! Addresses, keys, folders and languages that the environment or the configuration got wrong.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use codey_testkit::{ScriptedServer, TempWorkspace};

use crate::codey::{Api, Codey, Ran, bash, read, reply, says, talker};

const HELLO: [&str; 2] = ["-p", "hi"];
/// What no output and no log may hold.
const SECRETS: [&str; 3] = ["passw0rd", "sesame", "token="];

fn bytes(text: &[u8]) -> &OsStr {
    OsStr::from_bytes(text)
}

/// All that is written below a folder.
fn written(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all += &written(&path);
        } else {
            all += &String::from_utf8_lossy(&std::fs::read(path).unwrap());
        }
    }
    all
}

fn assert_discreet(ran: &Ran, folders: &[&Path]) {
    let all: String = folders.iter().map(|folder| written(folder)).collect();
    for secret in SECRETS {
        assert!(!format!("{}{}{all}", ran.stdout, ran.stderr).contains(secret), "{secret}: {ran:?}\n{all}");
    }
}

#[test]
fn addresses_that_are_none_are_refused_before_anything_begins_and_not_repeated() {
    const BEGIN: &str = "must begin with http:// or https://, like https://host/v1. ";
    for (url, why) in [
        ("localhost:8080/v1", BEGIN),
        ("ftp://user:passw0rd@host/?token=sesame", BEGIN),
        ("user:passw0rd@host/v1", BEGIN),
        ("not an address", BEGIN),
        ("file:///etc/passwd", BEGIN),
        ("http://", "is no address (empty host); "),
        ("http://user:passw0rd@/v1", "is no address (empty host); "),
        ("http://h ost/v1?token=sesame", "is no address ("),
        ("http://127.0.0.1:99999/v1", "is no address (invalid port number); "),
        ("http://[::1/passw0rd", "is no address (invalid IPv6 address); "),
        ("http://127.0.0.1:1\n/sesame", "holds a line break or another control character. "),
        ("\u{1b}[31mpassw0rd", "holds a line break or another control character. "),
    ] {
        let workspace = TempWorkspace::new(&[]);
        let mut codey = Codey::new(workspace.path()).asking_at(url).args(&["-p", "-vv", "hi"]);
        let output: Ran = codey.command().output().unwrap().into();
        output.assert_refused(&format!("CODEY_BASE_URL {why}"));
        assert_discreet(&output, &[codey.home.path(), workspace.path()]);
        assert!(!workspace.exists(".codey"), "{url}");
        let doctor = Codey::new(workspace.path()).asking_at(url).args(&["doctor"]).run();
        assert_eq!(doctor.code, 1);
        assert_discreet(&doctor, &[]);
    }
}

#[test]
fn a_password_in_an_address_is_used_and_never_shown() {
    let server = ScriptedServer::start(vec![codey_testkit::Reply::status(401).body("the key sesame-1 is wrong")]);
    let url = server.url().replace("http://", "http://user:passw0rd@") + "/v1?token=sesame-2";
    let workspace = TempWorkspace::new(&[]);
    let codey = || Codey::new(workspace.path()).asking_at(&url).env("CODEY_API_KEY", "sesame-1");
    let mut once = codey().args(&["-p", "-vv", "--mode", "json", "hi"]);
    let ran: Ran = once.command().output().unwrap().into();
    assert_eq!(ran.code, 1);
    assert!(
        ran.complaint().contains("/v1/chat/completions answered 401: the key [redacted] is wrong. Check the API key")
    );
    assert_discreet(&ran, &[once.home.path(), workspace.path()]);
    assert!(server.requests()[0].path.ends_with("?token=sesame-2"));
    let doctor = codey().args(&["doctor"]).run();
    assert!(doctor.stdout.contains(&format!("m at {}/v1\n", server.url())), "{doctor:?}");
    assert_discreet(&doctor, &[]);
    drop(server);
    let unnamed = codey().env("CODEY_MODEL", "").args(&HELLO).run();
    unnamed.assert_refused("no model is named, and the endpoint does not list any: http://127.0.0.1:");
    assert_discreet(&unnamed, &[]);
    assert!(unnamed.complaint().contains(" refused the connection. Name a model with --model"), "{unnamed:?}");
}

/// Starts it by `setpriv` with `change` if this process may do more than others, as root may.
#[cfg(target_os = "linux")]
fn unprivileged(codey: Codey, change: &[&str]) -> Codey {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let is_privileged = !status.contains("CapEff:\t0000000000000000\n");
    if is_privileged { codey.through("setpriv", change) } else { codey }
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_finds_no_secret_in_its_environment_or_in_that_of_codey() {
    let looks = "tr '\\0' '\\n' < /proc/$PPID/environ > outer; env > inner; cat /proc/$PPID/comm > parent";
    let server = ScriptedServer::start(vec![reply(Api::OpenAi, vec![bash("c1", looks)]), says(Api::OpenAi, "done")]);
    let url = server.url().replace("http://", "http://user:passw0rd@") + "/v1?token=sesame-2";
    let workspace = TempWorkspace::new(&[]);
    let codey = Codey::new(workspace.path()).asking_at(&url).env("CODEY_API_KEY", "sesame-1");
    // With what root may do, a command can look into every process.
    let codey = unprivileged(codey.args(&["-p", "--always-approve", "go"]), &["--bounding-set=-all"]);
    let ran = codey.run();
    assert_eq!((ran.code, workspace.read("parent").as_str()), (0, "codey\n"), "{ran:?}");
    assert_discreet(&ran, &[workspace.path()]);
}

#[test]
fn keys_that_cannot_be_sent_are_not_shown() {
    let server = talker(Api::Anthropic, "OK", 0);
    for api in [Api::Anthropic, Api::OpenAi] {
        for key in ["sesame\nsesame", "sesame-schlüssel", "sesame\u{1}", "sesame\u{201d}"] {
            let workspace = TempWorkspace::new(&[]);
            let ran = Codey::new(workspace.path()).asking(&server, api).env("CODEY_API_KEY", key).args(&HELLO).run();
            ran.assert_refused(
                "CODEY_API_KEY holds a line break or another character that cannot be sent. Copy the key again, ",
            );
            assert_discreet(&ran, &[workspace.path()]);
            assert!(!workspace.exists(".codey"));
        }
    }
    let workspace = TempWorkspace::new(&[]);
    let blank = Codey::new(workspace.path()).asking(&server, Api::OpenAi).env("CODEY_API_KEY", " ").args(&HELLO).run();
    blank.assert_refused("the endpoint environment needs a key, and CODEY_API_KEY is not set or is blank. Set ");
    let none = Codey::new(workspace.path()).args(&["-p", "--endpoint", "openai", "hi"]).run();
    none.assert_refused(
        "the endpoint openai needs a key, and OPENAI_API_KEY is not set or is blank. Set OPENAI_API_KEY",
    );
    assert!(server.requests().is_empty());
}

#[test]
fn variables_that_are_no_text_are_not_taken_for_unset() {
    let server = talker(Api::OpenAi, "OK", 0);
    let workspace = TempWorkspace::new(&[]);
    for name in ["CODEY_BASE_URL", "CODEY_API", "CODEY_API_KEY", "CODEY_MODEL"] {
        let codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi).env(name, bytes(b"a\xffb"));
        codey
            .args(&HELLO)
            .run()
            .assert_refused(&format!("the value of {name} is not valid UTF-8. Set it anew, or unset it."));
    }
    let codey = Codey::new(workspace.path()).env("OPENAI_API_KEY", bytes(b"a\xffb"));
    codey.args(&HELLO).run().assert_refused("the value of OPENAI_API_KEY is not valid UTF-8. ");
    let codey = |name, value| Codey::new(workspace.path()).asking(&server, Api::OpenAi).env(name, value);
    codey("CODEY_API", "x\ny")
        .args(&HELLO)
        .run()
        .assert_refused("CODEY_API is \"x\\ny\". Set it to anthropic or openai");
    let other = codey("CODEY_BASE_URL", "nonsense").args(&["-p", "--endpoint", "openai", "hi"]).run();
    other.assert_refused("the endpoint openai needs a key, ");
    codey("CODEY_MODEL", "x\ny").args(&HELLO).run().assert_refused("CODEY_MODEL is not the name of a model. ");
}

/// It works all the same; `warning` is all there is to say.
fn check_works(change: impl Fn(Codey) -> Codey, warning: Option<&str>) {
    let (server, workspace) =
        (talker(Api::OpenAi, "größe\n", 1), TempWorkspace::new(&[("in/.config/codey/config.toml", "nonsense = 1\n")]));
    let ran = change(Codey::new(workspace.path()).asking(&server, Api::OpenAi)).args(&HELLO).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "größe\n"), "{ran:?}");
    let warnings: Vec<&str> =
        ran.stderr.lines().filter(|line| line.contains("warning") && !line.contains("window")).collect();
    assert_eq!(warnings.len(), usize::from(warning.is_some()), "{ran:?}");
    assert!(warnings.iter().all(|line| line.contains(warning.unwrap())), "{ran:?}");
    assert!(!workspace.exists("in/.local") && !workspace.exists(".local") && !workspace.exists(".config"), "{ran:?}");
}

#[test]
fn no_home_or_one_that_leads_nowhere_is_no_reason_to_stop() {
    check_works(
        |mut codey| {
            // Else the account's own home is found, which a test must not read.
            codey
                .command()
                .env_remove("HOME")
                .env("XDG_CONFIG_HOME", "/nonexistent")
                .env("XDG_STATE_HOME", "/nonexistent");
            codey
        },
        None,
    );
    // A relative one leads into the repository, whose files are not the user's.
    check_works(|codey| codey.env("HOME", "in"), Some("HOME is \"in\", which is no absolute path"));
    check_works(|codey| codey.env("HOME", ""), Some("HOME is \"\", which is no absolute path"));
    check_works(|codey| codey.env("XDG_CONFIG_HOME", "in/.config").env("XDG_STATE_HOME", "in"), None);
    check_works(|codey| codey.env("HOME", bytes(b"/nonexistent/\xff")), None);
    check_works(|codey| codey.env("HOME", "/proc/nonexistent").args(&["-vv"]), None);
}

#[test]
fn languages_and_terminals_change_nothing() {
    for (name, value) in [("LANG", "tr_TR.UTF-8"), ("LC_ALL", "POSIX"), ("LC_ALL", "xx_NONE.ISO-8859-99"), ("TERM", "")]
    {
        check_works(|codey| codey.env(name, value), None);
    }
    check_works(|codey| codey.env("LC_ALL", bytes(b"\xff")).env("COLUMNS", "0"), None);
    check_works(|codey| codey.env("CODEY_LOG", ""), None);
    check_works(|codey| codey.env("CODEY_LOG", "=,[["), Some("CODEY_LOG is \"=,[[\" and not error, warn, "));
    let doctor = Codey::new(TempWorkspace::new(&[]).path()).env("CODEY_LOG", "=,[[").args(&["doctor"]).run();
    assert!(doctor.stdout.contains("\nwarning  environment  CODEY_LOG is \"=,[[\" and not error, "), "{doctor:?}");
}

fn endpoint(lines: &str) -> String {
    format!("[model]\ndefault = 'm'\n[[endpoint]]\nname = 'mine'\n{lines}\n")
}

#[test]
fn configurations_that_cannot_be_used_name_file_line_and_key() {
    let long = format!("{} = 1\n", "k".repeat(5_000));
    let cut = format!(":1:1: {}…: unknown key, allowed here: ", "k".repeat(100));
    for (text, expected) in [
        (long.as_bytes(), cut.as_str()),
        (b"\"a\\u001b\\n\" = 1\n", ":1:1: \"a\\u{1b}\\n\": unknown key, allowed here: "),
        (b"[model]\neffort = \"\\u001b[2J\"\n", ":2:10: model.effort: unknown value `\\u{1b}[2J`, allowed: "),
        (b"[model]\ndefault = \"a\\nb\"\n", ":2:11: model.default: expected the name of a model."),
        (b"a = \xff\n", ":1:5: is not UTF-8: unexpected byte 0xff at offset 4. Save the file as UTF-8."),
        (b"\xff\xfex\0", ": is UTF-16, expected UTF-8. Save the file as UTF-8."),
        (
            b"[permissions]\ndeny_paths = ['b', 'a[/b']\n",
            ":2:20: permissions.deny_paths[1]: this glob cannot be read: ",
        ),
        (b"[permissions]\ndeny_paths = ['a', '']\n", ":2:20: permissions.deny_paths[1]: an empty pattern would deny"),
        (b"[permissions]\ndeny_paths = ['ok', 'b[']\n", ":2:21: permissions.deny_paths[1]: this glob cannot be read: "),
        (b"[limits]\nmax_cost = nan\n", ":2:12: limits.max_cost: NaN is no amount; expected a positive number"),
        (
            endpoint("base_url = 'ftp://u:passw0rd@h'").as_bytes(),
            ":5:12: endpoint[0].base_url: it must begin with http",
        ),
        (
            endpoint("base_url = 'http://h'\nheaders = {'a b' = 'sesame'}").as_bytes(),
            ":6:11: endpoint[0].headers: \"a b\" is no name of a header.",
        ),
        (
            endpoint("base_url = 'http://h'\nheaders = {a = \"sesame\\n.\"}").as_bytes(),
            ":6:11: endpoint[0].headers: the value of the header a holds ",
        ),
        (
            endpoint("base_url = 'http://h'\napi_key = 'sesame'").as_bytes(),
            ":6:11: endpoint[0].api_key: expected \"env:NAME\"",
        ),
        (
            endpoint("base_url = 'http://h'\nidle_timeout = 'soon'").as_bytes(),
            ":6:16: endpoint[0].idle_timeout: \"soon\" is no duration; ",
        ),
    ] {
        let workspace = TempWorkspace::new(&[]);
        let codey = Codey::new(workspace.path()).config_bytes(text).args(&HELLO);
        let file = codey.home.path().join(".config/codey/config.toml");
        let ran = codey.run();
        ran.assert_refused(&format!("{}{expected}", file.display()));
        assert_discreet(&ran, &[workspace.path()]);
    }
}

#[test]
fn configurations_that_are_no_files_are_not_waited_for() {
    type Make = fn(&Path);
    let make: [(Make, &str); 4] = [
        (|path| std::fs::create_dir_all(path).unwrap(), "config.toml: is a folder, expected a file. Rename "),
        (
            |path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap(),
            "config.toml: is not a regular file. Put a regular file or a link to one here.",
        ),
        (
            |path| std::os::unix::fs::symlink("nowhere", path).unwrap(),
            "config.toml: is a link to a file that does not exist. Correct or remove the link.",
        ),
        (
            |path| {
                std::fs::remove_dir(path.parent().unwrap()).unwrap();
                std::fs::write(path.parent().unwrap(), "").unwrap();
            },
            "config.toml: cannot be read: a folder of its path is a file. Correct the path, or move that file ",
        ),
    ];
    for (make, expected) in make {
        let (server, workspace) = (talker(Api::OpenAi, "OK", 0), TempWorkspace::new(&[]));
        for folder in [".config/codey", ".codey"] {
            let codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi);
            let place = if folder == ".codey" { workspace.at(folder) } else { codey.home.path().join(folder) };
            std::fs::create_dir_all(&place).unwrap();
            make(&place.join("config.toml"));
            codey.args(&HELLO).run().assert_refused(&format!("{}/{expected}", place.display()));
        }
    }
}

#[test]
fn keys_and_certificates_that_are_not_there_name_their_origin() {
    for (lines, expected) in [
        (
            "api_key = 'cmd:no-such-program x'",
            "the key program \"no-such-program x\" cannot be started: No such file or ",
        ),
        ("api_key = 'cmd:false'", "the key program \"false\" failed (exit status: 1). Run it by hand; "),
        ("api_key = 'cmd:true'", "the key program \"true\" printed nothing. Run it by hand; "),
        (
            "api_key = 'cmd:echo sesame-ü'",
            "what the key program \"echo sesame-ü\" printed holds a line break or another ",
        ),
        (
            "api_key = 'none'\nca_file = '/missing'",
            "endpoint `mine`: cannot read ca_file /missing: No such file or directory. ",
        ),
        (
            "api_key = 'none'\nca_file = '/etc/hostname'",
            "endpoint `mine`: ca_file /etc/hostname holds no PEM certificates. ",
        ),
    ] {
        let workspace = TempWorkspace::new(&[]);
        let config = endpoint(&format!("base_url = 'https://127.0.0.1:1'\n{lines}"));
        Codey::new(workspace.path()).config(&config).args(&HELLO).run().assert_refused(expected);
        assert!(!workspace.exists(".codey"), "{lines}");
    }
}

#[test]
fn too_few_open_files_are_said_to_be_too_few() {
    let workspace = TempWorkspace::new(&[]);
    for most in [6, 31] {
        let limited = format!("ulimit -n {most}; exec \"$@\"");
        let codey = Codey::new(workspace.path()).args(&["-p", "go"]).through("sh", &["-c", &limited, "sh"]);
        codey.run().assert_refused(&format!(
            "cannot start: no more than {most} files may be open at once. Raise the limit, as with ulimit -n 256."
        ));
    }
    let server = ScriptedServer::start(vec![
        reply(Api::OpenAi, vec![bash("c1", "echo here"), read("c2", "f")]),
        says(Api::OpenAi, "done"),
    ]);
    let workspace = TempWorkspace::new(&[("f", "text")]);
    let asking = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "--always-approve", "go"]);
    let ran = asking.through("sh", &["-c", "ulimit -n 32; exec \"$@\"", "sh"]).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "done\n"), "{ran:?}");
    let second = server.requests()[1].json().to_string();
    assert!(second.contains("here") && second.contains("text"), "{second}");
}

#[cfg(target_os = "linux")]
#[test]
fn too_few_threads_are_said_to_be_too_few() {
    let workspace = TempWorkspace::new(&[]);
    for most in [1, 4] {
        let limited = format!("ulimit -u {most}; exec \"$@\"");
        let codey = Codey::new(workspace.path()).args(&["-p", "go"]).through("bash", &["-c", &limited, "bash"]);
        // The limit does not hold for root.
        unprivileged(codey, &["--reuid=65534", "--clear-groups"]).run().assert_refused(
            "cannot start 4 threads: Resource temporarily unavailable. Raise the limit on processes and threads",
        );
    }
}
