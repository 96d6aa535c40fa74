/** What a handler gets. */

import type { Deadline } from '#execution/deadline';
import { Fault } from '#kernel/errors';
import { type KnownEffect, notSent } from '#kernel/known-effect';
import type { SecurityView } from '#kernel/ports/security-view';
import type { RequestRecord } from '#kernel/request';
import { showPlainly } from '#kernel/text';
import type { Tool, ToolContext } from '#kernel/tool';
import { redactText } from '#redaction/redact';
import type { CallDeps, IncomingCall } from './deps.ts';
import { redactionOf } from './record.ts';
import { reportBlock } from './report-block.ts';
import type { Resolved } from './stage.ts';

export interface HandlerContext {
  readonly context: ToolContext;
  /** What the handler last said is known of its effect. */
  effect(): KnownEffect;
}

export function toolContext(
  state: Resolved,
  { call, deps, deadline }: { readonly call: IncomingCall; readonly deps: CallDeps; readonly deadline: Deadline },
): HandlerContext {
  let effect: KnownEffect = notSent;
  const context: ToolContext = {
    agent: call.agent,
    signal: deadline.signal,
    targets: state.targets,
    cluster: clusterOf(state.tool, state.cluster, deps),
    workspace: () => {
      if (deps.workspace === undefined)
        throw new Fault('no_workspace', 'there is no workspace', { next: 'open a folder, or set `workspace.root`' });
      return deps.workspace;
    },
    requests: withoutPatterns(deps.requests),
    trail: deps.audit,
    security: securityView(state, call, deps),
    clock: deps.clock,
    // Names from the cluster are in it, and some hosts print it to a terminal.
    progress: (message) => call.onProgress?.(showPlainly(redactText(message, redactionOf(deps)))),
    noteEffect: (known) => {
      effect = known;
    },
    leftMs: () => deadline.leftMs(),
  };
  return { context, effect: () => effect };
}

/** The cluster of a call, for its handler. */
export function clusterOf(tool: Tool, cluster: string | undefined, deps: CallDeps): ToolContext['cluster'] {
  return () => {
    const configured = deps.clusters.get(cluster ?? '');
    if (configured === undefined) throw new Fault('no_cluster', `\`${tool.name}\` has no cluster`, { audience: 'bug' });
    return configured.access;
  };
}

function securityView(state: Resolved, call: IncomingCall, deps: CallDeps): SecurityView {
  const { settings, approvals } = deps;
  return {
    level: settings.securityLevel,
    sandbox: async () => (await deps.judge?.sandbox())?.state ?? deps.sandboxState(),
    report: async (block) => reportBlock(block, { tool: state.tool, agent: call.agent, rules: await settings.rules(), approvals }),
  };
}

/** SECURITY: what a detector matched is for people; a handler cannot hand out what it does not get. */
function withoutPatterns(requests: CallDeps['requests']): ToolContext['requests'] {
  return {
    get: async (id) => withoutPattern(await requests.get(id)),
    list: async (query) => {
      const page = await requests.list(query);
      return { ...page, records: page.records.map((record) => withoutPattern(record)) };
    },
    countPending: () => requests.countPending(),
    countApproved: () => requests.countApproved(),
  };
}

function withoutPattern<R extends RequestRecord | undefined>(record: R): R {
  if (record?.reported === undefined) return record;
  const { pattern: _people, ...reported } = record.reported;
  return { ...record, reported };
}
