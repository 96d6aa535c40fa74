/** What a handler gets. */

import type { Deadline } from '#execution/deadline';
import { Fault } from '#kernel/errors';
import { showPlainly } from '#kernel/text';
import type { ToolContext } from '#kernel/tool';
import type { IncomingCall, PipelineDeps } from './deps.ts';
import type { Resolved } from './stage.ts';

export interface HandlerContext {
  readonly context: ToolContext;
  /** What the handler said may go on without it; undefined when nothing. */
  stillRunning(): string | undefined;
}

export function toolContext(
  state: Resolved,
  { call, deps, deadline }: { readonly call: IncomingCall; readonly deps: PipelineDeps; readonly deadline: Deadline },
): HandlerContext {
  let running: string | undefined;
  const context: ToolContext = {
    agent: call.agent,
    signal: deadline.signal,
    targets: state.targets,
    cluster: () => {
      const configured = state.cluster === undefined ? undefined : deps.clusters.get(state.cluster);
      if (configured === undefined) throw new Fault('no_cluster', `\`${state.tool.name}\` has no cluster`, { audience: 'bug' });
      return configured.access;
    },
    workspace: () => {
      if (deps.workspace === undefined)
        throw new Fault('no_workspace', 'there is no workspace', { next: 'open a folder, or set `workspace.root`' });
      return deps.workspace;
    },
    requests: deps.requests,
    clock: deps.clock,
    // Names from the cluster are in it, and some hosts print it to a terminal.
    progress: (message) => call.onProgress?.(showPlainly(message)),
    stillRunning: (what) => {
      running = what;
    },
  };
  return { context, stillRunning: () => running };
}
