//! `read`: a file with line numbers.

mod lines;

use std::io::Read as _;
use std::num::NonZeroUsize;

use async_trait::async_trait;
use codey_protocol::{Digest, ErrorCode, Observed, ToolDisplay, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;

use super::content_kind::{ContentKind, SAMPLE, UTF8_BOM};
use super::stop::Stop;
use super::{plan_look, text};
use crate::quoted::quoted;
use crate::workspace::{Access, check_named, file_error, open_regular};
use crate::{Plan, ToolContext, ToolError, ToolOutput, TypedTool, Workspace};
use lines::{MAX_LINES, NumberedLines};

/// Shows files.
pub(super) struct Read;

/// The arguments of `read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadArgs {
    #[serde(alias = "file_path")]
    path: String,
    /// First line, from 1
    offset: Option<NonZeroUsize>,
    /// Number of lines
    limit: Option<NonZeroUsize>,
}

#[async_trait]
impl TypedTool for Read {
    type Args = ReadArgs;
    const NAME: &'static str = "read";
    const DESCRIPTION: &'static str = "Read a text file. Each line is shown as its number, a tab, then the line exactly \
        as it is. At most 2000 lines at once; go on with offset.";
    const KIND: ToolKind = ToolKind::Read;

    async fn plan(&self, args: &ReadArgs, workspace: &Workspace) -> Result<Plan, ToolError> {
        plan_look(workspace, &args.path, format!("read {}", quoted(&args.path))).await
    }

    async fn run(&self, args: ReadArgs, _plan: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        let stop = Stop::of(&context);
        context.workspace.blocking(move |workspace| read(workspace, &args, &stop)).await
    }
}

fn read(workspace: &Workspace, args: &ReadArgs, stop: &Stop) -> Result<ToolOutput, ToolError> {
    check_named(&args.path)?;
    let place = workspace.resolve(&args.path, Access::Read)?;
    let shown = &*quoted(&args.path);
    let (mut file, _) = open_regular(&place, shown)?;
    let mut chunk = vec![0; 256 * 1024];
    let mut fill = |chunk: &mut [u8]| -> Result<usize, ToolError> {
        let mut filled = 0;
        // A short read is no end: the first chunk has to hold the whole sample.
        while filled < chunk.len() {
            match file.read(&mut chunk[filled..]).map_err(|error| file_error(shown, "read", &error))? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    };
    let mut filled = fill(&mut chunk)?;
    let kind = ContentKind::of(&chunk[..filled.min(SAMPLE)]);
    let mut utf16 = match kind {
        ContentKind::Utf8 { .. } => None,
        ContentKind::Utf16 { name } => Some(utf16_decoder(name)),
        ContentKind::Image(media_type) => return Err(is_image(shown, media_type)),
        ContentKind::Binary(media_type) => return Err(is_binary(shown, media_type)),
    };
    let first = args.offset.map_or(1, NonZeroUsize::get);
    let mut lines = NumberedLines::new(first, args.limit.map_or(MAX_LINES, NonZeroUsize::get));
    let mut hash = blake3::Hasher::new();
    let mut rest_of_bom = if kind == (ContentKind::Utf8 { has_bom: true }) { UTF8_BOM.len() } else { 0 };
    while filled > 0 {
        stop.check()?;
        hash.update(&chunk[..filled]);
        match &mut utf16 {
            Some(decoder) => lines.push(decode(decoder, &chunk[..filled]).as_bytes()),
            None => lines.push(&chunk[std::mem::take(&mut rest_of_bom)..filled]),
        }
        filled = fill(&mut chunk)?;
    }
    let numbered = lines.finish(shown)?;
    let mut shown_text = numbered.text;
    for note in [note_on_encoding(kind, numbered.undecodable), note_on_name(&args.path)].into_iter().flatten() {
        shown_text.push_str(&format!("[{note}]\n"));
    }
    let digest = Digest::new(hash.finalize().to_hex().as_str());
    Ok(ToolOutput {
        for_model: text(shown_text.trim_end_matches('\n')),
        for_user: ToolDisplay::text(numbered.summary),
        observed: vec![Observed { path: place.path, digest }],
    })
}

fn utf16_decoder(name: &str) -> encoding_rs::Decoder {
    let encoding = if name == "UTF-16LE" { encoding_rs::UTF_16LE } else { encoding_rs::UTF_16BE };
    encoding.new_decoder_with_bom_removal()
}

fn decode(decoder: &mut encoding_rs::Decoder, bytes: &[u8]) -> String {
    let capacity = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len() * 3 + 16);
    let mut text = String::with_capacity(capacity);
    // The capacity holds whatever comes, so one call takes all of it.
    let _ = decoder.decode_to_string(bytes, &mut text, false);
    text
}

fn is_image(shown: &str, media_type: &str) -> ToolError {
    ToolError::new(
        ErrorCode::BinaryFile,
        format!(
            "{shown} is a picture ({media_type}), which cannot be shown yet. Ask the user what it shows, or inspect it with bash."
        ),
    )
}

fn is_binary(shown: &str, media_type: Option<&str>) -> ToolError {
    let kind = media_type.map(|kind| format!(" ({kind})")).unwrap_or_default();
    ToolError::new(
        ErrorCode::BinaryFile,
        format!(
            "{shown} is a binary file{kind}, not text. Inspect it with bash, for example with file, strings or xxd."
        ),
    )
}

fn note_on_encoding(kind: ContentKind, undecodable: bool) -> Option<String> {
    match kind {
        ContentKind::Utf16 { name } => {
            Some(format!("the file is {name}, shown decoded; edit cannot change it, convert it with iconv in bash"))
        }
        ContentKind::Utf8 { .. } if undecodable => {
            Some("the file is not valid UTF-8; what does not decode is shown as \u{FFFD} and kept by edit".to_owned())
        }
        ContentKind::Utf8 { .. } | ContentKind::Image(_) | ContentKind::Binary(_) => None,
    }
}

/// Says when a name promises something that is not there.
fn note_on_name(path: &str) -> Option<String> {
    let extension = path.rsplit_once('.')?.1.to_ascii_lowercase();
    let promises =
        ["png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "pdf", "zip", "gz", "exe", "so", "mp3", "mp4", "woff2"];
    promises.contains(&extension.as_str()).then(|| format!("the name ends in .{extension}, but the content is text"))
}
