//! JSON as a decoder reads it: once, and most of it not at all.

use std::borrow::Cow;
use std::fmt;
use std::ops::Index;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// A JSON value that borrows its texts where they hold no escapes.
///
/// Every delta of a response is read into one. A [`Value`] would copy each text and hash each key, for events of which
/// a single text is looked at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Number(Number),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    /// Members in their order. Of several with one key the last one counts, as in a [`Value`].
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

static NULL: Json<'static> = Json::Null;

impl<'a> Json<'a> {
    /// Reads a text that is one value; `None` if it is none.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The value at a path of keys, separated and begun by `/`; null if there is none.
    pub(crate) fn pointer(&self, path: &str) -> &Self {
        path.split('/').skip(1).fold(self, |value, key| &value[key])
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.as_u64() } else { None }
    }

    pub(crate) fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// A copy that borrows nothing.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(*bool),
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => Value::String(text.to_string()),
            Self::Array(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(members) => members.iter().map(|(key, value)| (key.to_string(), value.to_value())).collect(),
        }
    }
}

/// A member; null if there is none.
impl<'a> Index<&str> for Json<'a> {
    type Output = Json<'a>;

    fn index(&self, key: &str) -> &Self::Output {
        let Self::Object(members) = self else { return &NULL };
        members.iter().rev().find(|(name, _)| name == key).map_or(&NULL, |(_, value)| value)
    }
}

/// An item; null if there is none.
impl<'a> Index<usize> for Json<'a> {
    type Output = Json<'a>;

    fn index(&self, index: usize) -> &Self::Output {
        self.as_array().and_then(|items| items.get(index)).unwrap_or(&NULL)
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Self::Value, E> {
        Ok(Json::Bool(bool))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Key(key), value)) = access.next_entry()? {
            members.push((key, value));
        }
        Ok(Json::Object(members))
    }
}

/// A key, borrowed if it can be; serde alone always copies.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyReader;

        impl<'de> Visitor<'de> for KeyReader {
            type Value = Key<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(KeyReader)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) {
        let value: Option<Value> = serde_json::from_str(text).ok();
        assert_eq!(Json::parse(text).map(|json| json.to_value()), value, "{text}");
    }

    #[test]
    fn a_text_is_read_as_serde_json_reads_it() {
        for text in [
            r#"{"a": [1, -2, 2.5, 1e400, null, true, "x\n", {"b\t": "é"}], "a": "again", "": {}}"#,
            "18446744073709551616",
            "null",
            "[] x",
            "{\"a\"}",
            "\"\\ud83d\"",
            "",
        ] {
            check(text);
        }
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        check(&nested(127));
        check(&nested(129));
    }

    #[test]
    fn what_is_not_there_is_null() {
        let json = Json::parse(r#"{"a": {"b": [{"c": 1}]}, "d": 1, "d": 2}"#).unwrap();
        assert_eq!(json["a"]["b"][0]["c"].as_u64(), Some(1));
        assert_eq!(json.pointer("/a/b"), &json["a"]["b"]);
        assert_eq!(json["d"].as_u64(), Some(2), "the last one counts");
        for absent in [&json["x"]["y"], &json["a"]["b"][1], &json["d"]["e"], &json[0], json.pointer("/a/x/y")] {
            assert!(absent.is_null());
        }
    }

    #[test]
    fn only_texts_with_escapes_are_copied() {
        let json = Json::parse(r#"{"plain": "text", "escaped": "a\nb"}"#).unwrap();
        assert!(matches!(json["plain"], Json::String(Cow::Borrowed("text"))));
        assert!(matches!(&json["escaped"], Json::String(Cow::Owned(text)) if text == "a\nb"));
    }

    proptest! {
        #[test]
        fn any_text_of_json_pieces_is_read_as_serde_json_reads_it(
            pieces in prop::collection::vec(r#"[\[\]{},:]|"[a-c\\n]{0,2}"|-?[0-9]{1,3}(\.5)?|null|true|false"#, 0..12)
        ) {
            check(&pieces.concat());
        }
    }
}
