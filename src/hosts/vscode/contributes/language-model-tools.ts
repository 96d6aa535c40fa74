/** `contributes.languageModelTools` and the defaults that go with it, from the catalog. */

import type { ActionTier, ToolGroup } from '#kernel/tiers';
import type { ToolDescription } from '#kernel/tool';
import { languageModelName } from './language-model-name.ts';
import { toolSchema } from './tool-schema.ts';

/** The key under which the editor looks a tool up: extension id in lower case and the reference name. */
const extensionId = 'banksman.banksman';

const icons: Record<ToolGroup, string> = { cluster: '$(server-environment)', workspace: '$(files)', security: '$(shield)' };

const tierWords: Record<ActionTier, string> = {
  green: 'Reads only.',
  yellow: 'Checked against your policy and logged.',
  red: 'Asks you in a dialog each time.',
  black: 'Always refused, and recorded.',
};

export function languageModelToolContributions(tools: readonly ToolDescription[]) {
  return tools.map((tool) => ({
    name: languageModelName(tool.name),
    // Equal, since some hosts show models this one.
    toolReferenceName: languageModelName(tool.name),
    canBeReferencedInPrompt: true,
    displayName: `Banksman: ${tool.title}`,
    userDescription: tierWords[tool.tier],
    modelDescription: tool.description,
    inputSchema: toolSchema(tool.name, tool.inputSchema),
    icon: icons[tool.group],
    tags: ['banksman', tool.group, tool.tier],
  }));
}

/**
 * No “always allow” where the editor's card is the only prompt. A courtesy: the gate does not rely on it. Red tools are left out, since our
 * dialog asks about each call of theirs and the editor would show its generic card before it; forbidden ones, since they are refused anyway.
 */
export function autoApprovalDefaults(tools: readonly ToolDescription[]): Record<string, boolean> {
  const carded = tools.filter((tool) => tool.tier === 'yellow');
  return Object.fromEntries(carded.map((tool) => [`${extensionId}/${languageModelName(tool.name)}`, false]));
}
