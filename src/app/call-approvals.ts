/** Approvals as the pipeline needs them, and how a stored action is described anew from the catalog. */
import { hostname } from 'node:os';
import type { ApprovalsCore } from '#approval/approvals';
import type { Store } from '#kernel/ports/store';
import type { EffectiveAction } from '#kernel/request';
import type { Target } from '#kernel/resource';
import type { Impact } from '#kernel/tiers';
import { byHandMark } from '#pipeline/already-run';
import type { CallApprovals } from '#pipeline/deps';
import { catalog } from './catalog.ts';

export function callApprovals(store: Store, approvals: ApprovalsCore): CallApprovals {
  const spender = `${hostname()} pid ${process.pid}`;
  return {
    open: (draft) => store.requests.open(draft),
    waitForDecision: (id, options) => approvals.waitForDecision(id, options),
    claim: async (id, digest, byHandOf) => {
      const spent = await approvals.spendGrant(id, digest, byHandOf === undefined ? spender : `${spender}${byHandMark}${byHandOf}`);
      return spent.ok ? spent : { ok: false, code: spent.why === 'already_used' ? 'grant_used' : spent.why, message: spent.message };
    },
  };
}

/**
 * The title and impact that the catalog gives an action. A stored title that differs was not written by the pipeline.
 * undefined for a tool this version does not know, or an action its schema refuses.
 */
export function describeAction(action: EffectiveAction): { readonly title: string; readonly impact: Impact } | undefined {
  const tool = catalog.find((entry) => entry.name === action.tool);
  const input = tool?.input.safeParse(action.arguments);
  if (tool === undefined || !input?.success) return undefined;
  try {
    return { title: tool.headline(input.data, action.targets as unknown as readonly Target[]), impact: tool.impact };
  } catch {
    // Targets of another shape than the tool's own: not an action that the pipeline made.
    return undefined;
  }
}
