//! A node of the session tree as front ends and files see it.

use std::collections::BTreeMap;
use std::sync::Arc;

use codey_llm::{CallId, Message, Usage};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NodeId, Observed, TodoItem, ToolDisplay};

/// What is known of a node besides its message. Empty members are left out in JSON.
///
/// ```
/// use codey_protocol::Meta;
/// let meta = Meta { model: Some("qwen3".into()), interrupted: true, ..Meta::default() };
/// assert_eq!(serde_json::to_string(&meta).unwrap(), r#"{"model":"qwen3","interrupted":true}"#);
/// assert_eq!(serde_json::from_str::<Meta>("{}").unwrap(), Meta::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Meta {
    /// The model that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where that model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// What the request took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The request's size as the token estimator weighs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// When it was appended; UTC, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", with = "rfc3339_millis")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub created_at: Option<Timestamp>,
    /// Hash of the prefix the request began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// What people saw of the calls answered here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub displays: BTreeMap<CallId, ToolDisplay>,
    /// File versions that came into the model's view here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<Observed>,
    /// The task list as of here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo: Option<Vec<TodoItem>>,
    /// Whether the message was cut by an interrupt or a lost connection.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// What a node is.
///
/// ```
/// use codey_protocol::NodeViewKind;
/// assert_eq!(serde_json::to_string(&NodeViewKind::Summary).unwrap(), r#""summary""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeViewKind {
    /// A message.
    Message,
    /// A summary that stands for older nodes.
    Summary,
    /// Marks where old tool output ends.
    Prune,
}

/// A node, with its message shared and not copied.
///
/// ```
/// use codey_protocol::{NodeView, NodeViewKind};
/// let node: NodeView = serde_json::from_str(
///     r#"{"id":"01JGFJJZ00000000000000000A","parent":null,"kind":"message","role":"user",
///         "content":[{"type":"text","text":"hi"}],"meta":{}}"#,
/// ).unwrap();
/// assert_eq!((node.kind, node.message.unwrap().text().as_str()), (NodeViewKind::Message, "hi"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    /// Its name.
    pub id: NodeId,
    /// The node before it; `None` at the beginning.
    pub parent: Option<NodeId>,
    /// What it is.
    pub kind: NodeViewKind,
    /// Role and content; a prune node has none.
    #[serde(flatten)]
    pub message: Option<Arc<Message>>,
    /// What else is known.
    #[serde(default)]
    pub meta: Meta,
}

/// RFC 3339, UTC, always three digits of a second.
mod rfc3339_millis {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.collect_str(&format_args!("{time:.3}")),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}
