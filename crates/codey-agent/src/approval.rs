//! When the person is asked, and what was answered.

use std::collections::HashSet;

use codey_protocol::{Decision, Effect, PermissionMode, SandboxStatus};
use serde_json::Value;

/// What is known about asking. Answers are kept for the process only and asked again after a resume, on purpose.
pub(crate) struct Approvals {
    /// Whether somebody can answer.
    pub(crate) answers: bool,
    sandbox: SandboxStatus,
    tools: HashSet<String>,
    /// As [`key`] gives them.
    commands: HashSet<(String, String)>,
}

/// Whether a call may run, as far as guards had nothing against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Run,
    Ask,
    /// Plan mode: nothing is changed.
    PlanMode,
}

impl Approvals {
    pub(crate) fn new(answers: bool, sandbox: SandboxStatus) -> Self {
        Self { answers, sandbox, tools: HashSet::new(), commands: HashSet::new() }
    }

    /// Plan mode first, then remembered answers, then the mode.
    pub(crate) fn verdict(&self, mode: PermissionMode, effect: Effect, name: &str, input: &Value) -> Verdict {
        if effect == Effect::Observe {
            return Verdict::Run;
        }
        if mode == PermissionMode::Plan {
            return Verdict::PlanMode;
        }
        if self.tools.contains(name) || self.commands.contains(&key(name, input)) {
            return Verdict::Run;
        }
        let runs = match mode {
            PermissionMode::Default | PermissionMode::Plan => false,
            PermissionMode::AcceptEdits => effect == Effect::Edit,
            // bash runs in auto only where an active sandbox confines it.
            PermissionMode::Auto => effect == Effect::Edit || (name == "bash" && !self.sandbox.active.is_empty()),
            PermissionMode::AlwaysApprove => true,
        };
        if runs { Verdict::Run } else { Verdict::Ask }
    }

    /// Remembers an answer for later calls.
    pub(crate) fn remember(&mut self, decision: &Decision, effect: Effect, name: &str, input: &Value) {
        match decision {
            Decision::Once {} | Decision::Reject { .. } => {}
            Decision::AlwaysCommand {} => {
                self.commands.insert(key(name, input));
            }
            Decision::AlwaysTool {} if effect == Effect::Edit => {
                self.tools.extend(["edit".to_owned(), "write".to_owned()]);
            }
            Decision::AlwaysTool {} => {
                self.tools.insert(name.to_owned());
            }
        }
    }
}

/// Tool and canonical arguments.
pub(crate) fn key(name: &str, input: &Value) -> (String, String) {
    let mut input = input.clone();
    input.sort_all_objects();
    (name.to_owned(), input.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_mode_runs_what_it_says() {
        use Effect::{Edit, Execute, Observe};
        use PermissionMode::{AcceptEdits, AlwaysApprove, Auto, Default, Plan};
        use Verdict::{Ask, PlanMode, Run};
        let approvals = Approvals::new(true, SandboxStatus::off());
        for (mode, expected) in [
            (Default, [Run, Ask, Ask]),
            (AcceptEdits, [Run, Run, Ask]),
            (Auto, [Run, Run, Ask]),
            (Plan, [Run, PlanMode, PlanMode]),
            (AlwaysApprove, [Run, Run, Run]),
        ] {
            let verdicts = [Observe, Edit, Execute]
                .map(|effect| approvals.verdict(mode, effect, "bash", &json!({"command": "x"})));
            assert_eq!(verdicts, expected, "{mode:?}");
        }
    }

    #[test]
    fn an_active_sandbox_lets_bash_run_in_auto() {
        let sandbox = SandboxStatus { active: vec!["landlock".into()], ..SandboxStatus::off() };
        let approvals = Approvals::new(true, sandbox);
        let verdict = |name| approvals.verdict(PermissionMode::Auto, Effect::Execute, name, &json!({}));
        assert_eq!([verdict("bash"), verdict("github__push")], [Verdict::Run, Verdict::Ask]);
    }

    #[test]
    fn answers_are_remembered_as_far_as_they_go() {
        let mut approvals = Approvals::new(true, SandboxStatus::off());
        let (command, other) = (json!({"command": "make", "workdir": "a"}), json!({"command": "make"}));
        approvals.remember(&Decision::AlwaysCommand {}, Effect::Execute, "bash", &command);
        let verdict = |approvals: &Approvals, effect, name, input| {
            approvals.verdict(PermissionMode::Default, effect, name, input)
        };
        let reordered = json!({"workdir": "a", "command": "make"});
        assert_eq!(verdict(&approvals, Effect::Execute, "bash", &reordered), Verdict::Run);
        assert_eq!(verdict(&approvals, Effect::Execute, "bash", &other), Verdict::Ask);
        approvals.remember(&Decision::AlwaysTool {}, Effect::Edit, "edit", &json!({}));
        assert_eq!(verdict(&approvals, Effect::Edit, "write", &json!({"path": "a"})), Verdict::Run);
        assert_eq!(approvals.verdict(PermissionMode::Plan, Effect::Edit, "write", &json!({})), Verdict::PlanMode);
    }
}
