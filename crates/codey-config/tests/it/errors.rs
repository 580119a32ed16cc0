//! One error, with the place in the right file and what is allowed there.

use codey_config::{ConfigError, Layer, Origin, Position};

use crate::{file, loaded, refused};

/// `text` is refused as a whole with `line`, and `hint` says what to do.
fn check(text: &str, line: &str, hint: Option<&str>) {
    let error = match Layer::parse(Origin::File("c.toml".into()), text) {
        Ok(layer) => refused(vec![layer]),
        Err(error) => error,
    };
    assert_eq!((error.to_string().as_str(), error.hint.as_deref()), (line, hint), "{text:?}");
}

#[test]
fn conf_01_unknown_key_at_the_top_names_the_nearest() {
    check(
        "\nmodle = \"x\"\n",
        "c.toml:2:1: modle: unknown key, allowed here: `version`, `model`, `server`, `rules`, `files`, `profile`",
        Some("did you mean `model`?"),
    );
}

#[test]
fn conf_01_misspelt_table_is_an_error_at_its_header() {
    check(
        "version = 1\n[rulse]\ndeny = [\"bash\"]\n",
        "c.toml:2:2: rulse: unknown key, allowed here: `version`, `model`, `server`, `rules`, `files`, `profile`",
        Some("did you mean `rules`?"),
    );
}

#[test]
fn conf_01_key_of_another_table_is_unknown_here() {
    check(
        "base_url = \"http://127.0.0.1:9\"",
        "c.toml:1:1: base_url: unknown key, allowed here: `version`, `model`, `server`, `rules`, `files`, `profile`",
        None,
    );
}

#[test]
fn an_unknown_key_inside_a_list_of_tables_is_placed_there() {
    check(
        "[[server]]\nname = \"a\"\n\n[[server]]\nname = \"b\"\n  urll = \"x\"\n",
        "c.toml:6:3: server[1].urll: unknown key, allowed here: `name`, `url`, `retries`, `headers`",
        Some("did you mean `url`?"),
    );
}

#[test]
fn a_value_of_the_wrong_type_is_placed_at_the_value() {
    check("[model]\ndefault = 3\n", "c.toml:2:11: model.default: expected a string, found integer `3`", None);
    check("model = \"x\"", "c.toml:1:9: model: expected a table, found string \"x\"", None);
    check("[model]\nheat = true", "c.toml:2:8: model.heat: expected a number, found boolean `true`", None);
    check("[rules]\nallow = \"bash\"", "c.toml:2:9: rules.allow: expected a list, found string \"bash\"", None);
}

#[test]
fn an_element_of_a_list_is_placed_by_itself() {
    check(
        "[rules]\nallow = [\"a\",\n  7,\n]",
        "c.toml:3:3: rules.allow[1]: expected a string, found integer `7`",
        None,
    );
}

#[test]
fn an_unknown_value_lists_the_allowed_ones() {
    check(
        "model.effort = \"hihg\"",
        "c.toml:1:16: model.effort: unknown value `hihg`, allowed: `low`, `high`",
        Some("did you mean `high`?"),
    );
}

#[test]
fn a_number_out_of_range_says_the_range() {
    check("version = 300", "c.toml:1:11: version: expected a whole number from 0 to 255, found integer `300`", None);
    check("version = 99999999999999999999", "c.toml:1:11: this number is out of range", None);
    check("model.heat = 1e999", "c.toml:1:14: this number is out of range", None);
}

#[test]
fn a_missing_key_is_placed_at_the_table_that_lacks_it() {
    check("\n[[server]]\nurl = \"x\"", "c.toml:2:1: server[0]: the key `name` is missing", None);
}

#[test]
fn a_name_given_twice_in_one_file_is_an_error() {
    check(
        "[[server]]\nname = \"a\"\n[[server]]\nname = \"a\"\n",
        "c.toml:3:1: server[1]: name \"a\" is given twice (first on line 1)",
        Some("give each its own name, or put them together"),
    );
    check(
        "[[profile.x.server]]\nname = \"a\"\n[[profile.x.server]]\nname = \"a\"\n",
        "c.toml:3:1: profile.x.server[1]: name \"a\" is given twice (first on line 1)",
        Some("give each its own name, or put them together"),
    );
}

#[test]
fn a_syntax_error_shows_its_line() {
    check("version = 1\n[model\n", "c.toml:2:7: unclosed table, expected `]`, in: [model", None);
    check("a = 1\na = 2\n", "c.toml:2:1: duplicate key, in: a = 2", None);
}

#[test]
fn a_syntax_error_in_a_long_line_is_cut() {
    let text = format!("a = {} b", "\"é\"".repeat(100));
    let error = Layer::parse(Origin::File("c.toml".into()), &text).unwrap_err();
    let (_, excerpt) = error.message.split_once(", in: ").unwrap();
    assert_eq!(excerpt.chars().count(), 81);
    assert!(excerpt.ends_with('…'));
}

#[test]
fn columns_count_characters() {
    check("files = [\"äöü\", 1]", "c.toml:1:17: files[1]: expected a string, found integer `1`", None);
}

#[test]
fn crlf_and_a_byte_order_mark_do_not_move_positions() {
    check("\u{feff}version = 1\r\nfiles = 1\r\n", "c.toml:2:9: files: expected a list, found integer `1`", None);
    check("\u{feff}files = 1", "c.toml:1:9: files: expected a list, found integer `1`", None);
}

#[test]
fn text_of_the_file_cannot_break_the_line_or_reach_the_terminal() {
    check(
        "model.effort = \"\\u001b[2J\\n\"",
        "c.toml:1:16: model.effort: unknown value `\\u{1b}[2J\\n`, allowed: `low`, `high`",
        None,
    );
    check(
        "\"a\\nb\" = 1",
        "c.toml:1:1: \"a\\nb\": unknown key, allowed here: `version`, `model`, `server`, `rules`, `files`, `profile`",
        None,
    );
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    for text in [format!("a = {}", "[".repeat(100_000)), format!("{}a = 1", "a.".repeat(100_000))] {
        let error = Layer::parse(Origin::File("c.toml".into()), &text).unwrap_err();
        assert_eq!(error.position.unwrap().line, 1);
        assert!(error.to_string().len() < 300, "{error}");
    }
}

#[test]
fn the_error_names_the_file_that_is_wrong_and_not_the_one_that_wins() {
    let error = refused(vec![file("user.toml", "[model]\ndefault = 1"), file("project.toml", "model.default = \"x\"")]);
    assert_eq!(error.to_string(), "user.toml:2:11: model.default: expected a string, found integer `1`");
}

#[test]
fn the_error_is_one_value_with_its_parts() {
    let error = refused(vec![file("c.toml", "modle = 1")]);
    let expected = ConfigError {
        origin: Origin::File("c.toml".into()),
        position: Some(Position { line: 1, column: 1 }),
        key: "modle".into(),
        message: "unknown key, allowed here: `version`, `model`, `server`, `rules`, `files`, `profile`".into(),
        hint: Some("did you mean `model`?".into()),
    };
    assert_eq!(error, expected);
}

#[test]
fn a_variable_or_flag_is_named_as_the_user_wrote_it() {
    let wrong = |origin| refused(vec![Layer::single(origin, "model.effort", "max")]).to_string();
    assert_eq!(wrong(Origin::Env("APP_EFFORT".into())), "APP_EFFORT: unknown value `max`, allowed: `low`, `high`");
    assert_eq!(wrong(Origin::Flag("--effort".into())), "--effort: unknown value `max`, allowed: `low`, `high`");
}

#[test]
fn callers_place_their_own_errors() {
    let loaded = loaded(vec![
        file("user.toml", "[rules]\nallow = [\"bash\"]"),
        file("project.toml", "\n\n[rules]\nallow = [\"bsh\"]\n[[server]]\nname = \"a\""),
    ]);
    let line = |path| loaded.error_at(path, "is wrong", None).to_string();
    assert_eq!(line("rules.allow[0]"), "user.toml:2:10: rules.allow[0]: is wrong");
    assert_eq!(line("rules.allow[1]"), "project.toml:4:10: rules.allow[1]: is wrong");
    // What nobody wrote is placed at the table that lacks it.
    assert_eq!(line("server[0].url"), "project.toml:5:1: server[0].url: is wrong");
    assert_eq!(line("model.default"), "defaults: model.default: is wrong");
}

#[test]
fn a_layer_can_be_looked_into_before_it_is_checked() {
    let layer = file("c.toml", "version = 7\nnew_in_seven = true\n");
    assert_eq!(layer.get("version"), Some(toml_integer(7)));
    assert_eq!(layer.get("versio"), None);
    let error = layer.error_at("version", "version 7 is newer than this program", Some("update it".into()));
    assert_eq!(error.to_string(), "c.toml:1:11: version: version 7 is newer than this program");
}

fn toml_integer(number: i64) -> toml::Value {
    toml::Value::Integer(number)
}
