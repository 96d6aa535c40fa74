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
  { command: 'banksman.deny', title: 'Deny…', category, icon: '$(circle-slash)' },
  { command: 'banksman.revoke', title: 'Revoke Approval…', category, icon: '$(discard)' },
  { command: 'banksman.showDetails', title: 'Show Details', category, icon: '$(info)' },
  { command: 'banksman.showDiff', title: 'Compare with the File', category, icon: '$(diff)' },
  ...listCommands('Pending', 'Pending Approvals'),
  ...listCommands('History', 'Decided Requests'),
  { command: 'banksman.testCommand', title: 'Test a Command…', category, icon: '$(beaker)' },
  { command: 'banksman.setSecurityLevel', title: 'Set Security Level…', category, icon: '$(shield)' },
  { command: 'banksman.autoApproveRules', title: 'Auto-Approve Rules…', category, icon: '$(list-filter)' },
  { command: 'banksman.showLog', title: 'Show Log', category, icon: '$(output)' },
  { command: 'banksman.setClusterToken', title: 'Set API Token…', category, icon: '$(key)' },
  { command: 'banksman.copyMcpConfiguration', title: 'Copy MCP Client Configuration…', category, icon: '$(plug)' },
  { command: 'banksman.doctor', title: 'Doctor', category, icon: '$(pulse)' },
  { command: 'banksman.verifyAudit', title: 'Verify Audit Trail', category, icon: '$(verified)' },
  { command: 'banksman.openSettings', title: 'Open Settings', category, icon: '$(gear)' },
  { command: 'banksman.openWalkthrough', title: 'Open Walkthrough', category, icon: '$(book)' },
  { command: 'banksman.reload', title: 'Reload Settings and Store', category, icon: '$(refresh)' },
];

/** The same four for each list; their ids end in the list's name. */
function listCommands(name: string, list: string): readonly CommandContribution[] {
  return [
    { command: `banksman.search${name}`, title: `Search ${list}…`, category, icon: '$(search)' },
    { command: `banksman.filter${name}`, title: `Filter ${list}…`, category, icon: '$(filter)' },
    { command: `banksman.clearFilter${name}`, title: `Clear Filter of ${list}`, category, icon: '$(clear-all)' },
    { command: `banksman.loadMore${name}`, title: `Load More ${list}`, category },
  ];
}

export function commandContributions(tools: readonly ToolDescription[]): readonly CommandContribution[] {
  const actions = tools.filter(isPaletteTool).map((tool) => ({ command: paletteCommand(tool.name), title: paletteTitle(tool), category }));
  return [...ownCommands, ...actions];
}
