//! What a front end asks of the core.

use codey_llm::{Block, CallId, Effort};

use crate::{Decision, NodeId, PermissionMode};

/// A wish of the person. Inputs are read during turns too.
///
/// ```
/// use codey_llm::Block;
/// use codey_protocol::{Decision, Event, Input};
/// /// What a front end that trusts every call sends on an event.
/// fn answer(event: &Event) -> Option<Input> {
///     let Event::ApprovalRequest { call, .. } = event else { return None };
///     Some(Input::Resolve { call: call.clone(), decision: Decision::Once {} })
/// }
/// assert_eq!(answer(&Event::RunStart {}), None);
/// let prompt = Input::Prompt(vec![Block::text("make the test pass")]);
/// assert_ne!(prompt, Input::Interrupt);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Starts a run; sent during a run it waits for the run's end.
    Prompt(Vec<Block>),
    /// Joins the running run after its current batch of calls; without a run it is a prompt.
    Steer(Vec<Block>),
    /// Answers an approval request.
    Resolve {
        /// Which call was asked about.
        call: CallId,
        /// The answer.
        decision: Decision,
    },
    /// Ends the run; everything it did so far is kept.
    Interrupt,
    /// Folds older context, after the run's end.
    Compact {
        /// What the summary should keep.
        instruction: Option<String>,
    },
    /// Goes back to a node, after the run's end.
    Rewind {
        /// The new head.
        to: NodeId,
    },
    /// Changes when the person is asked.
    SetMode(PermissionMode),
    /// Changes the model, after the run's end.
    SetModel {
        /// Its name.
        model: String,
        /// Where; `None`: the same endpoint.
        endpoint: Option<String>,
        /// `None`: the provider's default.
        effort: Option<Effort>,
    },
}
