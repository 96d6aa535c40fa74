/** Exactly what will run, in the form that is digested, shown and written down. */
import type { Agent } from '#kernel/agent';
import type { EffectiveAction, RequestDraft } from '#kernel/approval/request';
import type { GuestCondition } from '#kernel/guest-condition';
import type { JsonObject } from '#kernel/json';
import type { CommandResource, HeldResource, PathResource, Target } from '#kernel/resource';
import type { Classified, Resolved } from './stage.ts';

/** @param workspacePlace counts for workspace tools alone: `src/a.ts` is another file in another workspace */
export function effectiveAction(
  state: Resolved & Pick<Classified, 'before'>,
  agent: Agent,
  policyVersion: string,
  workspacePlace?: string,
): EffectiveAction {
  return {
    tool: state.tool.name,
    arguments: state.input,
    targets: state.targets.map(lastingTarget),
    agentId: agent.id,
    cluster: state.cluster ?? null,
    ...(state.tool.group === 'workspace' && workspacePlace !== undefined ? { workspace: workspacePlace } : {}),
    ...(state.before === undefined ? {} : { before: state.before.map(boundTo) }),
    policyVersion,
  };
}

/** What the configuration says is in its digest. */
function boundTo(condition: GuestCondition): JsonObject {
  const { config: _values, settings: _foretold, ...bound } = condition;
  return bound;
}

/** Without the state that it was asked in: the same call once it has run. */
export function sameCall(action: EffectiveAction): EffectiveAction {
  const { before: _state, ...same } = action;
  return same;
}

/** What identifies a target; what changes by itself (status, online) is left out, or a grant would be void a second later. */
export function lastingTarget(target: Target): JsonObject {
  // Sound: the table has, under each kind, the function for that kind.
  return (lasting[target.kind] as (target: Target) => JsonObject)(target);
}

const lasting: { readonly [Kind in Target['kind']]: (target: Extract<Target, { kind: Kind }>) => JsonObject } = {
  guest: ({ kind, cluster, vmid, node, guestType, name }) => ({
    kind,
    cluster,
    vmid,
    node,
    guestType,
    ...(name === undefined ? {} : { name }),
  }),
  new_guest: ({ kind, cluster, vmid }) => ({ kind, cluster, vmid }),
  node: ({ kind, cluster, node }) => ({ kind, cluster, node }),
  storage: ({ kind, cluster, storage, node }) => ({ kind, cluster, storage, node }),
  tags: ({ kind, cluster, vmid, tags }) => ({ kind, cluster, vmid, tags: [...tags] }),
  service: ({ kind, cluster, node, service }) => ({ kind, cluster, node, service }),
  command: lastingCommand,
  path: lastingPath,
  destination: ({ kind, host }) => ({ kind, host }),
  held: lastingHeld,
};

/** As a record keeps it. SECURITY: of held changes without their texts, which may be anybody's secret. */
export function recordedTarget(target: Target): JsonObject {
  if (target.kind !== 'held') return lastingTarget(target);
  const { kind, id, digest, changes = [], more = 0 } = target;
  return { kind, id, digest, paths: changes.slice(0, 20).map(({ path }) => path), more: more + Math.max(0, changes.length - 20) };
}

function lastingCommand({ kind, surface, text, network, unsandboxed }: CommandResource): JsonObject {
  return { kind, surface, text, ...(network === true ? { network } : {}), ...(unsandboxed === true ? { unsandboxed } : {}) };
}

function lastingPath({ kind, access, path, machine, real, agreed }: PathResource): JsonObject {
  return {
    kind,
    access,
    path,
    ...(machine === true ? { machine } : {}),
    ...(real === undefined ? {} : { real }),
    ...(agreed === true ? { agreed } : {}),
  };
}

/** SECURITY: what a person is shown is part of what they sign. */
function lastingHeld({ kind, id, digest, changes = [], more = 0, lost }: HeldResource): JsonObject {
  const shown = changes.map(({ path, kind: change, facts, why, diff }) => ({ path, kind: change, facts, why, diff }));
  return { kind, id, digest, changes: shown, more, lost };
}

/** The caller, as a request keeps it. */
export function agentOfDraft({ id, host, modelTier, model, label }: Agent): RequestDraft['agent'] {
  return { id, host, modelTier, ...(model === undefined ? {} : { model }), ...(label === undefined ? {} : { label }) };
}
