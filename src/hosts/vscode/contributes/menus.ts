/** Where the commands stand. */
import type { ToolDescription } from '#kernel/tool';
import { isPaletteTool, paletteCommand } from './palette-command.ts';
import { viewId } from './views.ts';

const onApproval = `view == ${viewId} && viewItem == approval`;
const onView = `view == ${viewId}`;

export function menuContributions(tools: readonly ToolDescription[]) {
  return {
    'view/title': [
      { command: 'banksman.showLog', when: onView, group: 'navigation@1' },
      { command: 'banksman.openSettings', when: onView, group: '2_setup@0' },
      { command: 'banksman.doctor', when: onView, group: '1_check@1' },
      { command: 'banksman.verifyAudit', when: onView, group: '1_check@2' },
      { command: 'banksman.setClusterToken', when: onView, group: '2_setup@1' },
      { command: 'banksman.copyMcpConfiguration', when: onView, group: '2_setup@2' },
      { command: 'banksman.openWalkthrough', when: onView, group: '2_setup@3' },
      { command: 'banksman.reload', when: onView, group: '3_restart@1' },
    ],
    'view/item/context': [
      { command: 'banksman.review', when: onApproval, group: 'inline@1' },
      { command: 'banksman.deny', when: onApproval, group: 'inline@2' },
      { command: 'banksman.review', when: onApproval, group: '1_answer@1' },
      { command: 'banksman.deny', when: onApproval, group: '1_answer@2' },
      { command: 'banksman.denyWithMessage', when: onApproval, group: '1_answer@3' },
    ],
    commandPalette: tools.filter(isPaletteTool).map((tool) => ({
      command: paletteCommand(tool.name),
      when: tool.tier === 'green' ? 'banksman.state == ready' : 'banksman.state == ready && isWorkspaceTrusted',
    })),
  };
}
