//! Tokens from bytes, corrected by what providers report.

use crate::{Block, Message};

/// Bytes a token before anything was learned. Source: contract section 7.
const START_RATIO: f64 = 3.4;
/// Weight of a new sample in the moving average. Source: contract section 7.
const ALPHA: f64 = 0.3;
/// Samples below which the estimate reads high. Source: contract section 7.
const SURE_AFTER: u32 = 3;
/// How much it reads high. Source: contract section 7.
const UNSURE_FACTOR: f64 = 1.15;
/// Ratios outside are a provider's mistake (zero usage, a silently cut prompt). Source: requirements S1x-54.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1.5..=8.0;
/// Tokens of a picture, whatever its bytes: the largest a provider counts at its usual size limit.
const IMAGE_TOKENS: u64 = 1_600;
/// Bytes of JSON around each message. Source: requirements S1x-54.
const MESSAGE_OVERHEAD: usize = 16;

/// Estimates tokens and learns from reported usage.
///
/// Reads high until three samples are in: overflowing the window fails a request, stopping early only costs a little.
///
/// ```
/// use codey_llm::{Block, Message, TokenEstimator, bytes_in_tokens_of};
/// let mut estimator = TokenEstimator::default();
/// let bytes = bytes_in_tokens_of(&Message::user(vec![Block::text("fn main() {}".repeat(1_000))]));
/// let first = estimator.tokens(bytes);
/// (0..3).for_each(|_| estimator.learn(bytes, 4_000)); // what the provider reported for it
/// assert!(first > 4_000, "without samples it reads high");
/// assert_eq!(estimator.tokens(bytes), 4_000);
/// ```
#[derive(Clone, Debug)]
pub struct TokenEstimator {
    ratio: f64,
    samples: u32,
}

impl Default for TokenEstimator {
    fn default() -> Self {
        Self { ratio: START_RATIO, samples: 0 }
    }
}

impl TokenEstimator {
    /// Estimates the tokens in `bytes` of prompt, as counted by [`bytes_in_tokens_of`].
    ///
    /// ```
    /// use codey_llm::TokenEstimator;
    /// let estimator = TokenEstimator::default();
    /// assert_eq!(estimator.tokens(0), 0);
    /// assert!(estimator.tokens(200_000) > estimator.tokens(100_000));
    /// ```
    pub fn tokens(&self, bytes: u64) -> u64 {
        let unsure = if self.samples < SURE_AFTER { UNSURE_FACTOR } else { 1.0 };
        (bytes as f64 / self.ratio * unsure).ceil() as u64
    }

    /// Learns that a prompt of `bytes` took `tokens`. Implausible pairs are dropped.
    ///
    /// ```
    /// use codey_llm::TokenEstimator;
    /// let mut estimator = TokenEstimator::default();
    /// let before = estimator.tokens(10_000);
    /// estimator.learn(10_000, 0); // a provider that reports nothing teaches nothing
    /// assert_eq!(estimator.tokens(10_000), before);
    /// ```
    pub fn learn(&mut self, bytes: u64, tokens: u64) {
        if tokens == 0 {
            return;
        }
        let sample = bytes as f64 / tokens as f64;
        if !PLAUSIBLE.contains(&sample) {
            return;
        }
        self.ratio = if self.samples == 0 { sample } else { self.ratio + ALPHA * (sample - self.ratio) };
        self.samples += 1;
    }
}

/// Bytes of a message as the estimator weighs them.
///
/// A wide character (CJK and the like, three bytes) is about one token, so it weighs as much as a token of plain text;
/// a picture weighs its fixed tokens.
///
/// ```
/// use codey_llm::{Block, Message, bytes_in_tokens_of};
/// let picture = |bytes: usize| Block::Image { media_type: "image/png".into(), data: vec![0; bytes].into() };
/// let weight = |bytes| bytes_in_tokens_of(&Message::user(vec![picture(bytes)]));
/// assert_eq!(weight(10), weight(1_000_000), "a picture has its price whatever its bytes");
/// ```
pub fn bytes_in_tokens_of(message: &Message) -> u64 {
    MESSAGE_OVERHEAD as u64 + message.content.iter().map(block_bytes).sum::<u64>()
}

fn block_bytes(block: &Block) -> u64 {
    match block {
        Block::Text { text } => text_bytes(text),
        Block::Thinking { text, opaque } => text_bytes(text) + opaque.as_ref().map_or(0, |o| o.raw.len() as u64),
        Block::ToolUse { name, input, .. } => name.len() as u64 + text_bytes(&input.to_string()),
        Block::ToolResult { content, .. } => content.iter().map(block_bytes).sum(),
        Block::Image { .. } => (IMAGE_TOKENS as f64 * START_RATIO) as u64,
        Block::Foreign { opaque } => opaque.raw.len() as u64,
    }
}

fn text_bytes(text: &str) -> u64 {
    if text.is_ascii() {
        return text.len() as u64;
    }
    let wide = text.chars().filter(|c| *c as u32 >= 0x2E80).count();
    let extra = (START_RATIO - 3.0).max(0.0) * wide as f64;
    text.len() as u64 + extra as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_high_until_three_samples_are_in() {
        let mut estimator = TokenEstimator::default();
        assert_eq!(estimator.tokens(3_400), 1_150);
        for _ in 0..3 {
            estimator.learn(4_000, 1_000);
        }
        assert_eq!(estimator.tokens(4_000), 1_000);
    }

    #[test]
    fn implausible_samples_are_dropped() {
        let mut estimator = TokenEstimator::default();
        for (bytes, tokens) in [(4_000, 0), (4_000, 4_000), (90_000, 100)] {
            estimator.learn(bytes, tokens);
        }
        assert_eq!(estimator.tokens(3_400), 1_150);
    }

    #[test]
    fn a_wide_character_is_about_a_token() {
        let message = Message::user(vec![Block::text("中".repeat(1_000))]);
        let tokens = bytes_in_tokens_of(&message) as f64 / START_RATIO;
        assert!((950.0..1_050.0).contains(&tokens), "{tokens}");
    }
}
