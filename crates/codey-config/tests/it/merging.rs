//! Later layers win, lists follow their rule, and every value knows who set it.

use codey_config::{Layer, Origin, load};

use crate::{Effort, RULES, Server, Settings, file, loaded};

#[test]
fn conf_05_each_layer_wins_over_the_one_before() {
    let layers = [
        Layer::parse(Origin::Defaults, "model.default = \"defaults\"").unwrap(),
        file("user.toml", "model.default = \"user\""),
        file("project.toml", "model.default = \"project\""),
        Layer::single(Origin::Env("APP_MODEL".into()), "model.default", "env"),
        Layer::single(Origin::Flag("--model".into()), "model.default", "flag"),
    ];
    for (count, expected) in (1..).zip(["defaults", "user", "project", "env", "flag"]) {
        let loaded = loaded(layers[..count].to_vec());
        assert_eq!(loaded.value.model.default.as_deref(), Some(expected));
        assert_eq!(loaded.origin_of("model.default"), Some(layers[count - 1].origin()));
    }
}

#[test]
fn tables_merge_key_by_key() {
    let loaded = loaded(vec![
        file("user.toml", "[model]\ndefault = \"a\"\neffort = \"low\""),
        file("project.toml", "[model]\neffort = \"high\""),
    ]);
    assert_eq!(loaded.value.model.default.as_deref(), Some("a"));
    assert_eq!(loaded.value.model.effort, Some(Effort::High));
    assert_eq!(loaded.origin_of("model.default"), Some(&Origin::File("user.toml".into())));
    assert_eq!(loaded.origin_of("model.effort"), Some(&Origin::File("project.toml".into())));
}

#[test]
fn lists_without_a_rule_are_replaced_also_by_an_empty_one() {
    let user = file("user.toml", "files = [\"a\", \"b\"]");
    assert_eq!(loaded(vec![user.clone(), file("p.toml", "files = [\"c\"]")]).value.files, Some(vec!["c".into()]));
    assert_eq!(loaded(vec![user, file("p.toml", "files = []")]).value.files, Some(vec![]));
}

#[test]
fn lists_that_append_keep_the_order_of_layers_and_origins_by_entry() {
    let loaded = loaded(vec![
        Layer::parse(Origin::Defaults, "rules.deny = [\"a\"]").unwrap(),
        file("user.toml", "rules.deny = [\"b\"]"),
        file("project.toml", "rules.deny = [\"c\", \"d\"]"),
    ]);
    assert_eq!(loaded.value.rules.deny, ["a", "b", "c", "d"]);
    assert_eq!(loaded.origin_of("rules.deny[0]"), Some(&Origin::Defaults));
    assert_eq!(loaded.origin_of("rules.deny[1]"), Some(&Origin::File("user.toml".into())));
    assert_eq!(loaded.origin_of("rules.deny[3]"), Some(&Origin::File("project.toml".into())));
    assert_eq!(loaded.origin_of("rules.deny[4]"), None);
}

#[test]
fn named_tables_of_a_list_merge_by_name() {
    let loaded = loaded(vec![
        file(
            "user.toml",
            "[[server]]\nname = \"a\"\nurl = \"http://a\"\nheaders.x = \"1\"\n[[server]]\nname = \"b\"\nretries = 1",
        ),
        file("project.toml", "[[server]]\nname = \"c\"\n[[server]]\nname = \"a\"\nretries = 2\nheaders.y = \"2\""),
    ]);
    let server = |name: &str, url: Option<&str>, retries, headers: &[(&str, &str)]| Server {
        name: name.into(),
        url: url.map(Into::into),
        retries,
        headers: headers.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
    };
    assert_eq!(
        loaded.value.server,
        [
            server("a", Some("http://a"), Some(2), &[("x", "1"), ("y", "2")]),
            server("b", None, Some(1), &[]),
            server("c", None, None, &[]),
        ]
    );
    assert_eq!(loaded.origin_of("server[0].url"), Some(&Origin::File("user.toml".into())));
    assert_eq!(loaded.origin_of("server[0].retries"), Some(&Origin::File("project.toml".into())));
}

#[test]
fn a_variable_can_name_a_whole_entry() {
    let entry = toml::toml! { name = "a"
    url = "http://env" };
    let env = Layer::single(Origin::Env("APP_URL".into()), "server", vec![entry]);
    let loaded = loaded(vec![file("user.toml", "[[server]]\nname = \"a\"\nretries = 3"), env]);
    assert_eq!(loaded.value.server[0].url.as_deref(), Some("http://env"));
    assert_eq!(loaded.value.server[0].retries, Some(3));
    assert_eq!(loaded.origin_of("server[0].url"), Some(&Origin::Env("APP_URL".into())));
}

#[test]
fn a_section_of_a_file_can_be_laid_over_it() {
    let user =
        file("user.toml", "model.default = \"a\"\n[profile.\"my fast\".model]\ndefault = \"b\"\neffort = \"low\"");
    let fast = user.section(&["profile", "my fast"]).unwrap();
    let loaded = loaded(vec![user.clone(), fast]);
    assert_eq!(loaded.value.model.default.as_deref(), Some("b"));
    assert_eq!(
        loaded.error_at("model.effort", "no", None).to_string(),
        "user.toml:4:10: model.effort: no",
        "the position is the one in the section"
    );
    assert!(user.section(&["profile", "slow"]).is_none());
    assert!(user.section(&["model", "default"]).is_none());
}

#[test]
fn errors_in_a_section_name_the_path_in_the_file() {
    let user = file("user.toml", "[profile.fast.model]\neffort = \"max\"");
    let section = user.section(&["profile", "fast"]).unwrap();
    let line = "user.toml:2:10: profile.fast.model.effort: unknown value `max`, allowed: `low`, `high`";
    assert_eq!(load::<Settings>(vec![section.clone()], RULES).unwrap_err().to_string(), line);
    assert_eq!(section.error_at("model.effort", "no", None).key, "profile.fast.model.effort");
}

#[test]
fn settings_lists_every_value_with_its_origin() {
    let loaded = loaded(vec![
        file("user.toml", "files = []\n[[server]]\nname = \"a\"\nheaders.\"x.y\" = \"1\""),
        Layer::single(Origin::Flag("--effort".into()), "model.effort", "high"),
    ]);
    let listed = loaded.settings().into_iter().map(|s| format!("{} = {} ({})", s.key, s.value, s.origin));
    assert_eq!(
        listed.collect::<Vec<_>>(),
        [
            "files = [] (user.toml)",
            "model.effort = \"high\" (--effort)",
            "server[0].headers.\"x.y\" = \"1\" (user.toml)",
            "server[0].name = \"a\" (user.toml)",
        ]
    );
}

#[test]
fn nothing_at_all_is_what_the_type_says_by_default() {
    assert_eq!(loaded(vec![]).value, Settings::default());
    assert_eq!(loaded(vec![file("empty.toml", ""), file("comment.toml", "# nothing\r\n")]).value, Settings::default());
    assert!(loaded(vec![]).settings().is_empty());
}

#[test]
fn what_fits_alone_but_not_together_is_reported_where_it_stands() {
    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code)] // only whether it deserializes matters
    struct Choice {
        tool: Tool,
    }
    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[allow(dead_code)] // only whether it deserializes matters
    enum Tool {
        Command(String),
        Url(String),
    }
    let layers = vec![file("user.toml", "tool.command = \"x\""), file("project.toml", "\ntool.url = \"y\"")];
    let error = load::<Choice>(layers, &[]).unwrap_err();
    assert_eq!(error.origin, Origin::File("project.toml".into()));
    assert_eq!((error.position.unwrap().line, error.key.as_str()), (2, "tool"));
}
