/** Where the commands stand. */
import type { ToolDescription } from '#kernel/tool';
import { isPaletteTool, paletteCommand } from './palette-command.ts';
import { historyViewId, viewId } from './views.ts';

const onView = `view == ${viewId}`;
const onHistory = `view == ${historyViewId}`;
const waits = `${onView} && viewItem =~ /^(approval|report)$/`;
const approved = `${onHistory} && viewItem == approved`;
const over = `${onHistory} && viewItem =~ /^(approved|decided)$/`;

export function menuContributions(tools: readonly ToolDescription[]) {
  return {
    'view/title': [
      ...listActions(onView, 'Pending'),
      ...listActions(onHistory, 'History'),
      { command: 'banksman.showLog', when: onView, group: 'navigation@9' },
      { command: 'banksman.testCommand', when: onView, group: '1_check@0' },
      { command: 'banksman.doctor', when: onView, group: '1_check@1' },
      { command: 'banksman.verifyAudit', when: onView, group: '1_check@2' },
      { command: 'banksman.setSecurityLevel', when: onView, group: '2_rules@1' },
      { command: 'banksman.autoApproveRules', when: onView, group: '2_rules@2' },
      { command: 'banksman.openSettings', when: onView, group: '3_setup@0' },
      { command: 'banksman.setClusterToken', when: onView, group: '3_setup@1' },
      { command: 'banksman.copyMcpConfiguration', when: onView, group: '3_setup@2' },
      { command: 'banksman.openWalkthrough', when: onView, group: '3_setup@3' },
      { command: 'banksman.reload', when: onView, group: '4_restart@1' },
    ],
    'view/item/context': [
      { command: 'banksman.review', when: waits, group: 'inline@1' },
      { command: 'banksman.showDetails', when: waits, group: 'inline@2' },
      { command: 'banksman.deny', when: waits, group: 'inline@3' },
      { command: 'banksman.review', when: waits, group: '1_answer@1' },
      { command: 'banksman.deny', when: waits, group: '1_answer@2' },
      { command: 'banksman.showDetails', when: waits, group: '2_look@1' },
      { command: 'banksman.revoke', when: approved, group: 'inline@1' },
      { command: 'banksman.showDetails', when: over, group: 'inline@2' },
      { command: 'banksman.revoke', when: approved, group: '1_answer@1' },
      { command: 'banksman.showDetails', when: over, group: '2_look@1' },
    ],
    commandPalette: [
      // They belong to a row of a list.
      { command: 'banksman.loadMorePending', when: 'false' },
      { command: 'banksman.loadMoreHistory', when: 'false' },
      ...tools.filter(isPaletteTool).map((tool) => ({
        command: paletteCommand(tool.name),
        when: tool.tier === 'green' ? 'banksman.state == ready' : 'banksman.state == ready && isWorkspaceTrusted',
      })),
    ],
  };
}

function listActions(view: string, name: string) {
  return [
    { command: `banksman.clearFilter${name}`, when: `${view} && banksman.filtered${name}`, group: 'navigation@1' },
    { command: `banksman.search${name}`, when: view, group: 'navigation@2' },
    { command: `banksman.filter${name}`, when: view, group: 'navigation@3' },
  ];
}
