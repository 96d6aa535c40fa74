/** classify: the action tier at this security level, and what the policies for commands, paths and units say. */
import type { Agent } from '#kernel/agent';
import { ask, type Decision, deny, strictest } from '#kernel/decision';
import type { CommandResource, PathResource, Target } from '#kernel/resource';
import { ruleSubject, settleByRules } from '#policy/auto-approve';
import { classify as classifyTier, networkAtLevel } from '#policy/classify';
import { decideServiceUnit } from '#policy/service-units';
import type { PolicySettings, WorkspaceJudge } from './deps.ts';
import type { Classified, Resolved } from './stage.ts';

export interface ClassifyDeps {
  readonly settings: PolicySettings;
  /** Absent where there is no workspace. */
  readonly judge?: WorkspaceJudge;
}

/** Replaces every command by its canonical text and every path by what it is: what runs is what was checked. */
export async function classify(state: Resolved, agent: Agent, deps: ClassifyDeps): Promise<Classified> {
  const byTier = classifyTier(state.tool.name, state.tier, deps.settings.securityLevel);
  const judged = await Promise.all(state.targets.map((target) => judgeTarget(target, agent, deps)));
  const targets = judged.map((entry) => entry.target);
  const decisions = [byTier, ...judged.flatMap((entry) => entry.decisions)];
  // Other tiers have no rules: what they read would change nothing.
  const rules = state.tier === 'yellow' ? await deps.settings.rules() : [];
  const subject = ruleSubject(state.tool.name, state.tier, targets);
  return { ...state, targets, decision: strictest(settleByRules(decisions, subject, rules)) };
}

interface Judged {
  readonly target: Target;
  readonly decisions: readonly Decision[];
}

async function judgeTarget(target: Target, agent: Agent, deps: ClassifyDeps): Promise<Judged> {
  if (target.kind === 'service' && target.access === 'operate') return { target, decisions: [decideServiceUnit(target.service)] };
  if (target.kind === 'path') return judgePath(target, agent, deps);
  if (target.kind !== 'command') return { target, decisions: [] };
  return target.surface === 'ssh' ? judgeSsh(target, deps.settings) : judgeCommand(target, deps);
}

function judgeSsh(target: CommandResource, settings: PolicySettings): Judged {
  const { decision, canonical } = settings.decideSsh(target.text);
  return { target: { ...target, text: canonical ?? target.text }, decisions: [decision] };
}

/**
 * A command in the workspace. What a person would have to grant for exactly this run (the network, running without an enforced sandbox)
 * is written into the target, so that it is part of what they approve. INVARIANT: each such mark comes with an `ask` or a `deny`, unless
 * the security level or a person's rule for this very text settles that ask; running without a sandbox is never settled in advance.
 */
async function judgeCommand(target: CommandResource, { settings, judge }: ClassifyDeps): Promise<Judged> {
  if (judge === undefined || target.surface === 'ssh') return { target, decisions: [noWorkspace] };
  const { decision, canonical } = await judge.decideCommand(target.surface, target.text);
  const leveled = networkAtLevel(decision, settings.securityLevel);
  const contained = containment(await judge.sandbox(), settings.requireSandbox);
  const marked: CommandResource = {
    ...target,
    text: canonical ?? target.text,
    ...(decision.code === 'network_blocked' && decision.effect === 'ask' ? { network: true } : {}),
    ...(contained === undefined ? {} : { unsandboxed: true }),
  };
  return { target: marked, decisions: contained === undefined ? [leveled] : [leveled, contained] };
}

/** Nothing degrades in silence: where the sandbox is not enforced, every command asks or is refused. */
function containment(sandbox: { readonly state: string; readonly reason: string }, required: boolean): Decision | undefined {
  if (sandbox.state === 'enforced') return undefined;
  const why = `the OS sandbox is ${sandbox.state}: ${sandbox.reason}`;
  return required ? deny('sandbox_required', why, ['sandbox:required']) : ask('sandbox_not_enforced', why, [`sandbox:${sandbox.state}`]);
}

async function judgePath(target: PathResource, agent: Agent, { judge }: ClassifyDeps): Promise<Judged> {
  if (judge === undefined) return { target, decisions: [noWorkspace] };
  const use = target.use ?? (target.access === 'operate' ? 'write' : 'read');
  const { decision, real } = await judge.decidePath(target.path, use, agent.id);
  const agreed = decision.effect === 'ask' ? { agreed: true } : {};
  return { target: { ...target, ...(real === undefined ? {} : { real }), ...agreed }, decisions: [decision] };
}

const noWorkspace = deny('no_workspace', 'there is no workspace; open a folder, or set `workspace.root`', ['workspace:none']);
