//! Tools with typed arguments.

use async_trait::async_trait;
use codey_llm::ToolSpec;
use codey_protocol::{ErrorCode, ToolKind};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::quoted::cut;
use crate::{Plan, Tool, ToolContext, ToolError, ToolInfo, ToolOutput, Workspace};

/// A tool whose arguments are a type. Their schema is derived from it, so the two cannot part.
#[async_trait]
pub trait TypedTool: Send + Sync {
    /// The arguments. Must deny unknown fields; aliases that models use are serde aliases.
    type Args: DeserializeOwned + JsonSchema + Send + Sync;

    /// What the model calls it.
    const NAME: &'static str;
    /// When and how to use it, for the model.
    const DESCRIPTION: &'static str;
    /// What it is for.
    const KIND: ToolKind;

    /// See [`Tool::plan`].
    async fn plan(&self, args: &Self::Args, workspace: &Workspace) -> Result<Plan, ToolError>;

    /// See [`Tool::run`].
    async fn run(&self, args: Self::Args, plan: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError>;
}

/// Makes a [`TypedTool`] a [`Tool`].
pub struct Typed<T> {
    tool: T,
    info: ToolInfo,
}

impl<T: TypedTool> Typed<T> {
    /// Wraps `tool`.
    pub fn new(tool: T) -> Self {
        let spec = ToolSpec {
            name: T::NAME.to_owned(),
            description: T::DESCRIPTION.to_owned(),
            schema: schema_of::<T::Args>(),
        };
        Self { tool, info: ToolInfo { spec, kind: T::KIND } }
    }
}

#[async_trait]
impl<T: TypedTool> Tool for Typed<T> {
    fn info(&self) -> &ToolInfo {
        &self.info
    }

    async fn plan(&self, input: &Value, workspace: &Workspace) -> Result<Plan, ToolError> {
        self.tool.plan(&parse::<T>(input)?, workspace).await
    }

    async fn run(&self, input: Value, plan: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        self.tool.run(parse::<T>(&input)?, plan, context).await
    }
}

fn parse<T: TypedTool>(input: &Value) -> Result<T::Args, ToolError> {
    let wrong = |problem: String| {
        let message = format!("{}: {problem}. Nothing was done; call it again with the right arguments.", T::NAME);
        ToolError::new(ErrorCode::InvalidArguments, message)
    };
    // Otherwise a list would pass for the fields in their order, and the error name a type of ours.
    if !input.is_object() {
        return Err(wrong("the arguments are no JSON object".to_owned()));
    }
    serde_path_to_error::deserialize(input).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!("{}: ", cut(&path)) };
        wrong(format!("{place}{}", cut(&error.inner().to_string())))
    })
}

/// The schema as models are told it: flat, small, no `$ref`.
fn schema_of<A: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<A>());
    simplify(&mut schema, true);
    schema
}

/// Drops what models do not need: titles, number formats, the top description, and `null` as the word for "optional".
fn simplify(schema: &mut Value, is_top: bool) {
    let Value::Object(object) = schema else { return };
    object.shift_remove("title");
    object.shift_remove("default");
    if is_top {
        object.shift_remove("description");
    }
    if matches!(object.get("type").and_then(Value::as_str), Some("integer" | "number"))
        || object.get("type").is_some_and(Value::is_array)
    {
        object.shift_remove("format");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|one| one.get("type").and_then(Value::as_str) != Some("null"));
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            object.shift_remove("anyOf");
            for (key, value) in one {
                object.entry(key).or_insert(value);
            }
        }
    }
    for key in ["properties", "$defs"] {
        if let Some(Value::Object(members)) = object.get_mut(key) {
            members.values_mut().for_each(|member| simplify(member, false));
        }
    }
    if let Some(items) = object.get_mut("items") {
        simplify(items, false);
    }
}
