/** The commands as data; the palette has one more for every cluster tool. */
import type { ToolDescription } from '#kernel/tool';
import { isPaletteTool, paletteCommand, paletteTitle } from './palette-command.ts';

export interface CommandContribution {
  readonly command: string;
  readonly title: string;
  readonly category: 'Banksman';
  readonly icon?: string;
}

const category = 'Banksman' as const;

const ownCommands: readonly CommandContribution[] = [
  { command: 'banksman.showApprovals', title: 'Show Pending Approvals', category, icon: '$(checklist)' },
  { command: 'banksman.review', title: 'Review', category, icon: '$(law)' },
  { command: 'banksman.deny', title: 'Deny', category, icon: '$(close)' },
  { command: 'banksman.denyWithMessage', title: 'Deny with Message…', category },
  { command: 'banksman.showLog', title: 'Show Log', category, icon: '$(output)' },
  { command: 'banksman.setClusterToken', title: 'Set API Token…', category, icon: '$(key)' },
  { command: 'banksman.copyMcpConfiguration', title: 'Copy MCP Client Configuration…', category, icon: '$(plug)' },
  { command: 'banksman.doctor', title: 'Doctor', category, icon: '$(pulse)' },
  { command: 'banksman.verifyAudit', title: 'Verify Audit Trail', category, icon: '$(verified)' },
  { command: 'banksman.openSettings', title: 'Open Settings', category, icon: '$(gear)' },
  { command: 'banksman.openWalkthrough', title: 'Open Walkthrough', category, icon: '$(book)' },
  { command: 'banksman.reload', title: 'Reload Settings and Store', category, icon: '$(refresh)' },
];

export function commandContributions(tools: readonly ToolDescription[]): readonly CommandContribution[] {
  const actions = tools.filter(isPaletteTool).map((tool) => ({ command: paletteCommand(tool.name), title: paletteTitle(tool), category }));
  return [...ownCommands, ...actions];
}
