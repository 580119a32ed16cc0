//! The agent: what it is made of, and the task that owns it.

use std::sync::Arc;

use codey_ctx::{Assembly, FoldPolicy, PathState, Prefix};
use codey_llm::{Effort, ModelInfo, Provider, TokenEstimator, Usage};
use codey_protocol::{Event, Handle, Limits, Meta, NodeId, PermissionMode, RunError, SandboxStatus};
use codey_session::{Session, SessionError, SetRecord};
use codey_tools::{Guard, RepetitionGuard, ToolSet, Workspace};
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::approval::Approvals;
use crate::mail::{Errand, Mail, Observer};
use crate::repetition::Recent;

/// Events that may wait for a slow consumer before the loop waits too.
const EVENT_CAPACITY: usize = 256;

/// A model and the provider that is asked for it.
///
/// ```
/// use codey_agent::ModelBinding;
/// use codey_llm::{Capabilities, Effort, ModelInfo, ScriptedProvider};
/// let capabilities = Capabilities { images: false, effort: true };
/// let binding = ModelBinding {
///     provider: ScriptedProvider::new("recording", Vec::new()), // or what codey_providers::connect gives
///     model: ModelInfo { id: "qwen3".into(), window: Some(32_768), max_output: 4_096, price: None, capabilities },
///     endpoint: "recording".into(),
///     effort: None,
/// };
/// let harder = ModelBinding { effort: Some(Effort::High), ..binding.clone() };
/// assert_eq!(harder.provider.id(), binding.provider.id());
/// ```
#[derive(Clone)]
pub struct ModelBinding {
    /// Asks the model.
    pub provider: Arc<dyn Provider>,
    /// What is known of it.
    pub model: ModelInfo,
    /// The endpoint's name, for people.
    pub endpoint: String,
    /// `None`: the provider's default.
    pub effort: Option<Effort>,
}

/// A wish for another model, as [`codey_protocol::Input::SetModel`] says it.
///
/// ```
/// use codey_agent::SetModel;
/// let wish = SetModel { model: "qwen3".into(), endpoint: None, effort: None };
/// assert_eq!(wish.endpoint.as_deref().unwrap_or("the current one"), "the current one");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetModel {
    /// The model's name.
    pub model: String,
    /// `None`: the current endpoint.
    pub endpoint: Option<String>,
    /// `None`: the provider's default.
    pub effort: Option<Effort>,
}

/// Finds the model that is wished for; gets the current one too.
///
/// ```
/// use std::sync::Arc;
/// use codey_agent::{ModelBinding, ModelResolver};
/// use codey_llm::ModelInfo;
/// use codey_protocol::{FailCode, RunError};
/// // Any model of the endpoint in use; no other endpoint.
/// let resolver: ModelResolver = Arc::new(|wish, current| {
///     Box::pin(async move {
///         if wish.endpoint.is_some_and(|endpoint| endpoint != current.endpoint) {
///             return Err(RunError::new(FailCode::Config, "there is one endpoint only", "Leave the endpoint out."));
///         }
///         let model = ModelInfo { id: wish.model, price: None, ..current.model.clone() };
///         Ok(ModelBinding { model, effort: wish.effort, ..current })
///     })
/// });
/// ```
pub type ModelResolver =
    Arc<dyn Fn(SetModel, ModelBinding) -> BoxFuture<'static, Result<ModelBinding, RunError>> + Send + Sync>;

/// Where the agent works, for people; the tools hold the real handle.
///
/// ```
/// use codey_agent::Place;
/// use codey_protocol::SandboxStatus;
/// let (root, cwd) = ("/home/me/project".to_owned(), "/home/me/project/core".to_owned());
/// let place = Place { root, cwd, sandbox: SandboxStatus::off() };
/// assert!(place.cwd.starts_with(&place.root));
/// ```
#[derive(Clone, Debug)]
pub struct Place {
    /// Top of the workspace.
    pub root: String,
    /// Where relative paths start.
    pub cwd: String,
    /// How bash is confined, as set up.
    pub sandbox: SandboxStatus,
}

/// Puts an agent together.
///
/// ```
/// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # let (folder, binding, workspace, session, place) = fixture::parts(fixture::writes_a_file());
/// use codey_agent::AgentBuilder;
/// use codey_llm::Block;
/// use codey_protocol::{Event, Input, PermissionMode};
/// use codey_tools::builtin_tools;
///
/// let mut handle = AgentBuilder::new(binding, workspace, session, place)
///     .system(vec!["You are a coding agent.".into()])
///     .tools(builtin_tools())
///     .mode(PermissionMode::AcceptEdits)
///     .spawn()?;
/// handle.inputs.send(Input::Prompt(vec![Block::text("write a.txt")]))?;
/// let answer = loop {
///     match handle.events.recv().await {
///         Some(Event::RunEnd { text, .. }) => break text,
///         Some(_) => {}
///         None => panic!("the agent ended"),
///     }
/// };
/// assert_eq!(answer, "done");
/// assert_eq!(std::fs::read_to_string(folder.path().join("a.txt"))?, "hello\n");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct AgentBuilder {
    binding: ModelBinding,
    workspace: Workspace,
    session: Session,
    place: Place,
    system: Vec<String>,
    tools: ToolSet,
    guards: Vec<Arc<dyn Guard>>,
    mode: PermissionMode,
    answers: bool,
    limits: Limits,
    policy: FoldPolicy,
    resolver: Option<ModelResolver>,
    observer: Option<Observer>,
    resumed: bool,
    notices: Vec<(String, String)>,
}

impl AgentBuilder {
    /// An agent that asks `binding`, works in `workspace` and writes to `session`.
    ///
    /// Without further calls it has no tools, an empty system prompt, the default mode, nobody to ask and the limits of
    /// [`Limits::default`]. The repetition guard is always there.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, binding, workspace, session, place) = fixture::parts(fixture::writes_a_file());
    /// # use codey_agent::AgentBuilder;
    /// use codey_protocol::{ErrorCode, Event};
    /// let agent = AgentBuilder::new(binding, workspace, session, place);
    /// let events = run(agent, "write a.txt").await; // sends the prompt and reads all events
    /// let unknown = |event: &Event| matches!(event, Event::ToolEnd { code: Some(ErrorCode::UnknownTool), .. });
    /// assert!(events.iter().any(unknown), "no tools were given");
    /// # });
    /// ```
    pub fn new(binding: ModelBinding, workspace: Workspace, session: Session, place: Place) -> Self {
        Self {
            binding,
            workspace,
            session,
            place,
            system: Vec::new(),
            tools: ToolSet::new(),
            guards: vec![Arc::new(RepetitionGuard)],
            mode: PermissionMode::Default,
            answers: false,
            limits: Limits::default(),
            policy: FoldPolicy::default(),
            resolver: None,
            observer: None,
            resumed: false,
            notices: Vec::new(),
        }
    }

    /// Sets the system prompt's parts, the stablest first.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (folder, binding, workspace, session, place) = fixture::parts(Vec::new());
    /// # use codey_agent::{AgentBuilder, ModelBinding};
    /// use codey_llm::ScriptedProvider;
    /// let provider = ScriptedProvider::new("recording", Vec::new());
    /// let binding = ModelBinding { provider: provider.clone(), ..binding };
    /// let agent = AgentBuilder::new(binding, workspace, session, place).system(vec!["You write haiku.".into()]);
    /// fixture::run(agent, "hi").await; // sends the prompt and reads all events
    /// assert_eq!(provider.requests()[0].system[0], "You write haiku.");
    /// # });
    /// ```
    pub fn system(mut self, parts: Vec<String>) -> Self {
        self.system = parts;
        self
    }

    /// Sets the tools, in the order the model is told of them.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use codey_protocol::Event;
    /// use codey_tools::builtin_tools;
    /// let mut tools = builtin_tools();
    /// tools.retain(|tool| tool.info().spec.name != "bash");
    /// let events = run(agent.tools(tools), "write a.txt").await;
    /// let Event::SessionStart { tools, .. } = &events[0] else { panic!() };
    /// assert_eq!(tools, &["read", "glob", "grep", "edit", "write"]);
    /// # });
    /// ```
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = tools;
        self
    }

    /// Adds a guard.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use std::sync::Arc;
    /// use async_trait::async_trait;
    /// use codey_protocol::{ErrorCode, Event, PermissionMode, ToolKind};
    /// use codey_tools::{Guard, GuardedCall, Refusal};
    ///
    /// struct ReadOnly;
    ///
    /// #[async_trait]
    /// impl Guard for ReadOnly {
    ///     fn name(&self) -> &'static str {
    ///         "read_only"
    ///     }
    ///
    ///     async fn check(&self, call: &GuardedCall<'_>) -> Option<Refusal> {
    ///         let looks = matches!(call.kind, ToolKind::Read | ToolKind::Search);
    ///         (!looks).then(|| Refusal { reason: "only look here, change nothing".into() })
    ///     }
    /// }
    ///
    /// let agent = agent.mode(PermissionMode::AlwaysApprove).guard(Arc::new(ReadOnly));
    /// let events = run(agent, "write a.txt").await;
    /// let denied = |event: &Event| matches!(event, Event::ToolEnd { code: Some(ErrorCode::Denied), .. });
    /// assert!(events.iter().any(denied));
    /// # });
    /// ```
    pub fn guard(mut self, guard: Arc<dyn Guard>) -> Self {
        self.guards.push(guard);
        self
    }

    /// Sets when the person is asked.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use codey_protocol::{ErrorCode, Event, PermissionMode};
    /// let events = run(agent.mode(PermissionMode::Plan), "write a.txt").await;
    /// let denied = |event: &Event| matches!(event, Event::ToolEnd { code: Some(ErrorCode::Denied), .. });
    /// assert!(events.iter().any(denied) && !folder.path().join("a.txt").exists());
    /// # });
    /// ```
    pub fn mode(mut self, mode: PermissionMode) -> Self {
        self.mode = mode;
        self
    }

    /// Says whether approvals can be answered; if not, a call that needs one ends the run.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use codey_llm::Block;
    /// use codey_protocol::{Decision, Event, Input, PermissionMode};
    /// let mut handle = agent.mode(PermissionMode::Default).answers(true).spawn().unwrap();
    /// handle.inputs.send(Input::Prompt(vec![Block::text("write a.txt")])).unwrap();
    /// while let Some(event) = handle.events.recv().await {
    ///     match event {
    ///         Event::ApprovalRequest { call, .. } => {
    ///             handle.inputs.send(Input::Resolve { call, decision: Decision::Once {} }).unwrap();
    ///         }
    ///         Event::RunEnd { .. } => break,
    ///         _ => {}
    ///     }
    /// }
    /// assert!(folder.path().join("a.txt").exists());
    /// # });
    /// ```
    pub fn answers(mut self, answers: bool) -> Self {
        self.answers = answers;
        self
    }

    /// Sets the bounds of each run.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use std::num::NonZeroU32;
    /// use codey_protocol::{Limit, Limits, RunOutcome};
    /// let agent = agent.limits(Limits { turns: NonZeroU32::new(1), ..Limits::default() });
    /// # let agent = agent.mode(codey_protocol::PermissionMode::AcceptEdits);
    /// let events = run(agent, "write a.txt").await;
    /// assert_eq!(outcome(&events), &RunOutcome::LimitReached { limit: Limit::Turns });
    /// assert!(folder.path().join("a.txt").exists(), "the calls of the last turn still run");
    /// # });
    /// ```
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets when the context counts as full.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use codey_ctx::FoldPolicy;
    /// use codey_protocol::{Limit, RunOutcome};
    /// let events = run(agent.policy(FoldPolicy { floor: 0.0 }), "write a.txt").await;
    /// assert_eq!(outcome(&events), &RunOutcome::LimitReached { limit: Limit::ContextFull });
    /// # });
    /// ```
    pub fn policy(mut self, policy: FoldPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Lets the person change the model.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use std::sync::Arc;
    /// use codey_agent::ModelBinding;
    /// use codey_llm::ModelInfo;
    /// use codey_llm::Block;
    /// use codey_protocol::{Event, Input};
    /// let agent = agent.resolver(Arc::new(|wish, current| {
    ///     let model = ModelInfo { id: wish.model, ..current.model.clone() };
    ///     Box::pin(async move { Ok(ModelBinding { model, effort: wish.effort, ..current }) })
    /// }));
    /// let mut handle = agent.spawn().unwrap();
    /// handle.inputs.send(Input::SetModel { model: "qwen3".into(), endpoint: None, effort: None }).unwrap();
    /// handle.inputs.send(Input::Prompt(vec![Block::text("who are you?")])).unwrap();
    /// let mut written_by = None;
    /// while written_by.is_none() {
    ///     if let Event::Message { node } = handle.events.recv().await.unwrap() {
    ///         written_by = node.meta.model;
    ///     }
    /// }
    /// assert_eq!(written_by.as_deref(), Some("qwen3"));
    /// # });
    /// ```
    pub fn resolver(mut self, resolver: ModelResolver) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// Calls `observer` with each event before it is sent. It must be quick.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let seen = Arc::new(AtomicUsize::new(0));
    /// let counter = seen.clone();
    /// let agent = agent.observer(Arc::new(move |_| {
    ///     counter.fetch_add(1, Ordering::Relaxed);
    /// }));
    /// let events = run(agent, "write a.txt").await;
    /// assert_eq!(seen.load(Ordering::Relaxed), events.len());
    /// # });
    /// ```
    pub fn observer(mut self, observer: Arc<dyn Fn(&Event) + Send + Sync>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Says that the session is an older one that goes on: its path is sent as a `PathReset`.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use codey_protocol::Event;
    /// let events = run(agent.resumed(true), "write a.txt").await;
    /// assert!(matches!(&events[..2], [Event::SessionStart { resumed: true, .. }, Event::PathReset { .. }]));
    /// # });
    /// ```
    pub fn resumed(mut self, resumed: bool) -> Self {
        self.resumed = resumed;
        self
    }

    /// Adds a warning that is sent right after the start.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use codey_protocol::Event;
    /// let events = run(agent.notice("config_ignored", "project.toml was not read"), "write a.txt").await;
    /// assert!(matches!(&events[1], Event::Warning { code, .. } if code == "config_ignored"));
    /// # });
    /// ```
    pub fn notice(mut self, code: impl Into<String>, message: impl Into<String>) -> Self {
        self.notices.push((code.into(), message.into()));
        self
    }

    /// Starts the agent on the current tokio runtime.
    ///
    /// # Errors
    /// The session's path cannot be read.
    ///
    /// ```
    /// # mod fixture { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/fixture.rs")); }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use fixture::{outcome, run};
    /// # let (folder, agent) = fixture::agent(fixture::writes_a_file());
    /// use codey_llm::Block;
    /// use codey_protocol::{Event, Input};
    /// let mut handle = agent.spawn()?;
    /// assert!(matches!(handle.events.recv().await, Some(Event::SessionStart { .. })));
    /// drop(handle.inputs); // nothing more is to come, so the agent ends
    /// assert_eq!(handle.events.recv().await, None);
    /// # Ok::<(), codey_session::SessionError>(())
    /// # }).unwrap();
    /// ```
    pub fn spawn(self) -> Result<Handle, SessionError> {
        let (events, event_receiver) = mpsc::channel(EVENT_CAPACITY);
        let (input_sender, inputs) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let mail = Mail::new(events, inputs, cancel.clone(), self.observer.clone(), self.mode);
        let agent = Agent::build(self, mail)?;
        // Not awaited here: the task ends by itself once the handle is gone, and its end closes the event channel.
        drop(tokio::spawn(agent.live()));
        Ok(Handle { inputs: input_sender, events: event_receiver, cancel })
    }
}

/// All state of one agent; one task owns it.
pub(crate) struct Agent {
    pub(crate) binding: ModelBinding,
    pub(crate) workspace: Workspace,
    pub(crate) tools: ToolSet,
    pub(crate) guards: Vec<Arc<dyn Guard>>,
    pub(crate) prefix: Prefix,
    pub(crate) session: Session,
    pub(crate) path: PathState,
    pub(crate) assembly: Assembly,
    pub(crate) estimator: TokenEstimator,
    pub(crate) approvals: Approvals,
    pub(crate) limits: Limits,
    pub(crate) policy: FoldPolicy,
    pub(crate) recent: Recent,
    pub(crate) totals: Totals,
    /// Hash of the prefix of the newest request in the lineage.
    pub(crate) last_prefix: Option<String>,
    pub(crate) window_warned: bool,
    place: Place,
    resolver: Option<ModelResolver>,
    resumed: bool,
    /// The mode that was recorded last, or the one it began with.
    recorded_mode: PermissionMode,
    notices: Vec<(String, String)>,
    /// Last, so that it is dropped last: when the event channel closes, the session's lock is free again.
    pub(crate) mail: Mail,
}

/// What the session took so far, over all its branches: what is spent stays spent.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    pub(crate) usage: Usage,
    /// `None` if a price is unknown, or what a request took.
    pub(crate) cost_usd: Option<f64>,
    pub(crate) turns: u32,
}

impl Agent {
    fn build(builder: AgentBuilder, mail: Mail) -> Result<Self, SessionError> {
        let specs = builder.tools.iter().map(|tool| tool.info().spec.clone()).collect();
        let mut agent = Self {
            mail,
            prefix: Prefix::new(builder.system, specs),
            binding: builder.binding,
            workspace: builder.workspace,
            tools: builder.tools,
            guards: builder.guards,
            session: builder.session,
            path: PathState::rebuild([]),
            assembly: Assembly::default(),
            estimator: TokenEstimator::default(),
            approvals: Approvals::new(builder.answers, builder.place.sandbox.clone()),
            limits: builder.limits,
            policy: builder.policy,
            recent: Recent::default(),
            totals: Totals { usage: Usage::default(), cost_usd: Some(0.0), turns: 0 },
            last_prefix: None,
            window_warned: false,
            place: builder.place,
            resolver: builder.resolver,
            resumed: builder.resumed,
            recorded_mode: builder.mode,
            notices: builder.notices,
        };
        agent.learn_from_lineage()?;
        agent.totals = agent.earlier_totals();
        Ok(agent)
    }

    /// Computes everything that the session tree determines (start, rewind).
    fn learn_from_lineage(&mut self) -> Result<(), SessionError> {
        let lineage = self.session.lineage()?;
        self.path = PathState::rebuild(&lineage);
        self.workspace.reset_seen(codey_ctx::seen(&self.path));
        self.recent = Recent::of(&lineage, &self.tools);
        self.estimator = TokenEstimator::default();
        self.last_prefix = None;
        for node in &lineage {
            if let Some((bytes, usage)) = node.meta.request_bytes.zip(node.meta.usage) {
                self.estimator.learn(bytes, usage.context());
            }
            if node.meta.prefix.is_some() {
                self.last_prefix.clone_from(&node.meta.prefix);
            }
        }
        Ok(())
    }

    /// What earlier runs of the session took. Prices of other models are not known here, nor what was not reported.
    fn earlier_totals(&self) -> Totals {
        let earlier = self.session.totals();
        let is_known = |meta: &Meta| {
            meta.model.as_ref().is_none_or(|model| *model == self.binding.model.id)
                && meta.usage.is_none_or(|usage| usage.context() > 0)
        };
        let price = self.binding.model.price.filter(|_| self.path.nodes().all(|node| is_known(&node.meta)));
        let cost_usd = price.map(|price| price.cost_usd(&earlier.usage));
        Totals { usage: earlier.usage, cost_usd, turns: earlier.turns }
    }

    /// The agent's whole life. The event channel closes when it ends; without a `RunEnd` for its `RunStart` it crashed.
    async fn live(mut self) {
        self.mail.emit(self.session_start()).await;
        if self.resumed {
            self.emit_path().await;
        }
        for (code, message) in std::mem::take(&mut self.notices) {
            self.mail.warn(&code, &message).await;
        }
        while let Some(errand) = self.mail.next_errand().await {
            match errand {
                Errand::Prompt(blocks) => self.run(blocks).await,
                Errand::Compact => {
                    self.mail.warn("nothing_to_compact", "this version of Codey cannot compact a session yet").await;
                }
                Errand::Rewind(to) => self.rewind(to).await,
                Errand::Warn { code, message } => self.mail.warn(code, &message).await,
                Errand::SetModel { model, endpoint, effort } => {
                    self.set_model(model, endpoint, effort).await;
                }
            }
            self.record_mode().await;
        }
        self.mail.flush().await;
    }

    fn session_start(&self) -> Event {
        Event::SessionStart {
            v: 1,
            session: self.session.is_stored().then(|| self.session.id().to_string()),
            root: self.place.root.clone(),
            cwd: self.place.cwd.clone(),
            model: self.binding.model.id.clone(),
            endpoint: self.binding.endpoint.clone(),
            tools: self.tools.iter().map(|tool| tool.info().spec.name.clone()).collect(),
            permission_mode: self.mail.mode,
            sandbox: self.place.sandbox.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            resumed: self.resumed,
        }
    }

    async fn emit_path(&mut self) {
        let path = self.path.nodes().map(|node| node.view()).collect();
        self.mail.emit(Event::PathReset { path }).await;
    }

    async fn rewind(&mut self, to: NodeId) {
        let before = self.session.head();
        let moved = self.session.set_head(Some(to)).and_then(|()| self.learn_from_lineage());
        match moved {
            Ok(()) => {
                // Without it a resume would go on from the old head.
                self.append_head().await;
                self.emit_path().await;
            }
            Err(error) => {
                // Head and path must not part. The old head was there, so this cannot fail but for a bug.
                if let Err(error) = self.session.set_head(before) {
                    tracing::error!(%error, "the head could not be put back");
                }
                self.mail.warn("rewind_failed", &error.to_string()).await;
            }
        }
    }

    async fn set_model(&mut self, model: String, endpoint: Option<String>, effort: Option<Effort>) {
        let Some(resolver) = self.resolver.clone() else {
            self.mail.warn("model_unchanged", "this agent works with one model only").await;
            return;
        };
        // No run is active: the end of everything is what may interrupt.
        let ending = self.mail.ending.clone();
        let resolved = resolver(SetModel { model, endpoint, effort }, self.binding.clone());
        let resolved = self.mail.drive(async {
            tokio::select! {
                resolved = resolved => Some(resolved),
                () = ending.cancelled() => None,
            }
        });
        match resolved.await {
            None => {}
            Some(Ok(binding)) if self.limits.cost_usd.is_some() && binding.model.price.is_none() => {
                let message =
                    format!("the price of {} is unknown, so the cost limit could not be held", binding.model.id);
                self.mail.warn("model_unchanged", &message).await;
            }
            Some(Ok(binding)) => {
                self.binding = binding;
                let model = Some(self.binding.model.id.clone());
                self.record(SetRecord { model, effort, ..SetRecord::default() }).await;
            }
            Some(Err(error)) => self.mail.warn("model_unchanged", &error.to_string()).await,
        }
    }

    async fn record_mode(&mut self) {
        if self.mail.mode != self.recorded_mode {
            self.recorded_mode = self.mail.mode;
            self.record(SetRecord { permission_mode: Some(self.mail.mode), ..SetRecord::default() }).await;
        }
    }

    async fn record(&mut self, set: SetRecord) {
        if let Err(error) = self.session.append_set(set) {
            self.mail.warn("session_not_written", &error.to_string()).await;
        }
    }
}
