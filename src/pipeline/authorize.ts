/** authorize: may this model use this kind of tool at all. */
import { lowestTierWith, permits } from '#identity/permissions';
import type { Agent } from '#kernel/agent';
import { allow, type Decision, deny } from '#kernel/decision';
import type { ActionTier } from '#kernel/tiers';
import type { Tool } from '#kernel/tool';

export function authorize(tool: Tool, agent: Agent): Decision {
  if (permits(agent.modelTier, tool.permission)) {
    return allow('permitted', `model tier ${agent.modelTier} holds \`${tool.permission}\``, [`permission:${tool.permission}`]);
  }
  return deny(
    'model_tier_too_low',
    `\`${tool.name}\` needs \`${tool.permission}\`, which starts at model tier ${lowestTierWith(tool.permission)}; this caller has ${agent.modelTier}${agent.classifiedTier === undefined ? '' : `, lowered from ${agent.classifiedTier} by repeated errors`}`,
    [`permission:${tool.permission}`],
  );
}

/** Where the host says that the workspace is not trusted: only what reads. undefined: nothing to say. */
export function restricted(tool: Tool, tier: ActionTier, restrict: 'green_only' | undefined): Decision | undefined {
  if (restrict === undefined || tier === 'green') return undefined;
  return deny('untrusted_workspace', `\`${tool.name}\` does not run in an untrusted workspace: only tools that read do`, [
    'workspace:untrusted',
  ]);
}
