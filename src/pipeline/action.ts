/** Exactly what will run, in the form that is digested, shown and written down. */
import type { Agent } from '#kernel/agent';
import type { JsonObject } from '#kernel/json';
import type { EffectiveAction } from '#kernel/request';
import type { Target } from '#kernel/resource';
import type { Resolved } from './stage.ts';

export function effectiveAction(state: Resolved, agent: Agent, policyVersion: string): EffectiveAction {
  return {
    tool: state.tool.name,
    arguments: state.input,
    targets: state.targets.map(lastingTarget),
    agentId: agent.id,
    cluster: state.cluster ?? null,
    policyVersion,
  };
}

/** What identifies a target; what changes by itself (status, online) is left out, or a grant would be void a second later. */
export function lastingTarget(target: Target): JsonObject {
  switch (target.kind) {
    case 'guest': {
      const { kind, cluster, vmid, node, guestType, name } = target;
      return { kind, cluster, vmid, node, guestType, ...(name === undefined ? {} : { name }) };
    }
    case 'node':
      return { kind: target.kind, cluster: target.cluster, node: target.node };
    case 'service':
      return { kind: target.kind, cluster: target.cluster, node: target.node, service: target.service };
    case 'command':
      return {
        kind: target.kind,
        surface: target.surface,
        text: target.text,
        ...(target.network === true ? { network: true } : {}),
        ...(target.unsandboxed === true ? { unsandboxed: true } : {}),
      };
    case 'path':
      return {
        kind: target.kind,
        access: target.access,
        path: target.path,
        ...(target.real === undefined ? {} : { real: target.real }),
        ...(target.agreed === true ? { agreed: true } : {}),
      };
    case 'destination':
      return { kind: target.kind, host: target.host };
  }
}
