/** The commands as data; the palette has one more for every cluster tool. */
import type { ToolDescription } from '#kernel/tool';
import { isPaletteTool, paletteCommand, paletteTitle } from './names.ts';
import { clusterViewId, historyViewId, viewId } from './views.ts';

interface CommandContribution {
  readonly command: string;
  readonly title: string;
  readonly category: 'Banksman';
  readonly icon?: string;
  /** While this does not hold, the palette has no such command. */
  readonly enablement?: string;
}

const category = 'Banksman' as const;

/** On a row of the clusters; each runs a tool by the usual way, or shows something. */
const rowCommands: readonly CommandContribution[] = [
  { command: 'banksman.doOnRow', title: 'Do…', category, icon: '$(run-all)' },
  { command: 'banksman.openGuest', title: 'Open Guest Page', category, icon: '$(graph)' },
  { command: 'banksman.openTask', title: 'Show Task Log', category, icon: '$(output)' },
  { command: 'banksman.startGuest', title: 'Start', category, icon: '$(play)' },
  { command: 'banksman.shutdownGuest', title: 'Shut Down', category, icon: '$(debug-stop)' },
  { command: 'banksman.restartGuest', title: 'Restart', category, icon: '$(debug-restart)' },
  { command: 'banksman.snapshotGuest', title: 'Take Snapshot…', category, icon: '$(device-camera)' },
  { command: 'banksman.migrateGuest', title: 'Migrate…', category, icon: '$(move)' },
];

const ownCommands: readonly CommandContribution[] = [
  { command: 'banksman.showApprovals', title: 'Show Pending Approvals', category, icon: '$(checklist)' },
  { command: 'banksman.review', title: 'Review', category, icon: '$(law)' },
  { command: 'banksman.deny', title: 'Deny…', category, icon: '$(circle-slash)' },
  { command: 'banksman.revoke', title: 'Revoke Approval…', category, icon: '$(discard)' },
  { command: 'banksman.showDetails', title: 'Show Details', category, icon: '$(info)' },
  { command: 'banksman.openPage', title: 'Open Approval Page', category, icon: '$(link-external)' },
  { command: 'banksman.showDiff', title: 'Compare with the File', category, icon: '$(diff)' },
  ...listCommands('Pending', 'Pending Approvals'),
  ...listCommands('History', 'Decided Requests'),
  { command: 'banksman.groupPending', title: 'Group Pending Approvals…', category, icon: '$(list-tree)' },
  { command: 'banksman.denyAll', title: 'Deny All…', category, icon: '$(circle-slash)' },
  { command: 'banksman.showActivity', title: 'Show Activity', category, icon: '$(graph-line)' },
  { command: 'banksman.showPolicy', title: 'Show Policy', category, icon: '$(shield)' },
  { command: 'banksman.searchCluster', title: 'Search Clusters…', category, icon: '$(search)' },
  { command: 'banksman.filterCluster', title: 'Filter Clusters…', category, icon: '$(filter)' },
  { command: 'banksman.clearFilterCluster', title: 'Clear Filter of Clusters', category, icon: '$(clear-all)' },
  { command: 'banksman.sortCluster', title: 'Sort Guests…', category },
  { command: 'banksman.refreshCluster', title: 'Refresh Clusters', category, icon: '$(refresh)' },
  ...rowCommands,
  { command: 'banksman.testCommand', title: 'Test a Command…', category, icon: '$(beaker)' },
  { command: 'banksman.setSecurityLevel', title: 'Set Security Level…', category, icon: '$(shield)' },
  { command: 'banksman.pauseAgents', title: 'Pause or Resume All Agents…', category, icon: '$(debug-pause)' },
  { command: 'banksman.autoApproveRules', title: 'Auto-Approve Rules…', category, icon: '$(list-filter)' },
  { command: 'banksman.agreeConfiguration', title: 'Agree to the Configuration…', category, icon: '$(lock)' },
  { command: 'banksman.showPlan', title: 'Show Plan', category },
  { command: 'banksman.strikeSteps', title: 'Strike Steps…', category, icon: '$(exclude)' },
  { command: 'banksman.pausePlan', title: 'Pause Plan', category, icon: '$(debug-pause)' },
  { command: 'banksman.resumePlan', title: 'Resume Plan…', category, icon: '$(debug-continue)' },
  { command: 'banksman.stopPlan', title: 'Stop Plan…', category, icon: '$(debug-stop)' },
  { command: 'banksman.undoPlan', title: 'Undo Plan…', category, icon: '$(discard)' },
  { command: 'banksman.undoRun', title: 'Undo This Run…', category, icon: '$(discard)' },
  { command: 'banksman.showLog', title: 'Show Log', category, icon: '$(output)' },
  { command: 'banksman.connectCluster', title: 'Connect a Cluster…', category, icon: '$(plug)' },
  { command: 'banksman.startDemo', title: 'Start Demo', category, icon: '$(beaker)' },
  { command: 'banksman.setClusterToken', title: 'Set API Token…', category, icon: '$(key)' },
  { command: 'banksman.copyMcpConfiguration', title: 'Copy MCP Client Configuration…', category, icon: '$(plug)' },
  { command: 'banksman.governAgents', title: 'Govern This Editor’s Agents…', category, icon: '$(law)' },
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
  const actions = tools.filter(isPaletteTool).map((tool) => ({
    command: paletteCommand(tool.name),
    title: paletteTitle(tool),
    category,
    enablement: tool.tier === 'green' ? 'banksman.looks' : 'banksman.acts',
  }));
  return [...ownCommands, ...actions];
}

/** Where the commands stand. */
const onView = `view == ${viewId}`;
const onHistory = `view == ${historyViewId}`;
const onClusters = `view == ${clusterViewId}`;
/** What kind of row: names of our own, so that no other view's row is meant. What waits begins with `bmw`, a plan's ends with `+`. */
const waits = 'viewItem =~ /^bmw/';
const approved = 'viewItem =~ /^bm-approved/';
const over = 'viewItem =~ /^bm-[ad]/';
const running = 'viewItem == bm-plan-running';
const paused = 'viewItem == bm-plan-paused';
const underWay = 'viewItem =~ /^bm-plan/';
const group = 'viewItem == bm-group';
const step = 'viewItem == bm-step';
const strikable = 'viewItem =~ /^bm(w-a.*\\+|-step)/';
const undoable = 'viewItem == bm-decided+';

const onGuest = 'viewItem =~ /^bmc-guest/';
const runs = 'viewItem == bmc-guest-running';
const isStopped = 'viewItem == bmc-guest-stopped';
const hasTools = 'viewItem =~ /^bmc-(guest|node|cluster|storage)/';

/** Three inline at most: they cover the title of a row in a narrow list. What else can be done stands in the context menu. */
const rowMenus = [
  { command: 'banksman.review', when: waits, group: 'inline@1' },
  { command: 'banksman.showDetails', when: waits, group: 'inline@2' },
  { command: 'banksman.deny', when: waits, group: 'inline@3' },
  { command: 'banksman.review', when: waits, group: '1@1' },
  { command: 'banksman.deny', when: waits, group: '1@2' },
  { command: 'banksman.openPage', when: `${waits} && banksman.page`, group: '1@3' },
  { command: 'banksman.showDetails', when: waits, group: '2@1' },
  { command: 'banksman.revoke', when: approved, group: 'inline@1' },
  { command: 'banksman.showDetails', when: over, group: 'inline@2' },
  { command: 'banksman.revoke', when: approved, group: '1@1' },
  { command: 'banksman.showDetails', when: over, group: '2@1' },
  { command: 'banksman.denyAll', when: group, group: 'inline@1' },
  { command: 'banksman.denyAll', when: group },
  { command: 'banksman.strikeSteps', when: step, group: 'inline@1' },
  { command: 'banksman.strikeSteps', when: strikable },
  { command: 'banksman.pausePlan', when: running, group: 'inline@1' },
  { command: 'banksman.pausePlan', when: running },
  { command: 'banksman.resumePlan', when: paused, group: 'inline@1' },
  { command: 'banksman.resumePlan', when: paused },
  { command: 'banksman.stopPlan', when: underWay, group: 'inline@2' },
  { command: 'banksman.stopPlan', when: underWay },
  { command: 'banksman.undoPlan', when: undoable, group: '1@1' },
  { command: 'banksman.startGuest', when: isStopped, group: 'inline@1' },
  { command: 'banksman.shutdownGuest', when: runs, group: 'inline@1' },
  { command: 'banksman.doOnRow', when: hasTools, group: 'inline@2' },
  { command: 'banksman.startGuest', when: isStopped, group: '1_do@1' },
  { command: 'banksman.shutdownGuest', when: runs, group: '1_do@1' },
  { command: 'banksman.restartGuest', when: runs, group: '1_do@2' },
  { command: 'banksman.snapshotGuest', when: onGuest, group: '1_do@3' },
  { command: 'banksman.migrateGuest', when: onGuest, group: '1_do@4' },
  { command: 'banksman.doOnRow', when: hasTools, group: '1_do@5' },
  { command: 'banksman.openGuest', when: onGuest, group: '2_look@1' },
];

/** A tool of the palette is hidden by its own `enablement`. */
export const menus = {
  'view/title': [
    ...listActions(onView, 'Pending'),
    ...listActions(onHistory, 'History'),
    ...listActions(onClusters, 'Cluster'),
    { command: 'banksman.refreshCluster', when: onClusters, group: 'navigation@4' },
    { command: 'banksman.sortCluster', when: onClusters, group: '1_look@1' },
    { command: 'banksman.groupPending', when: onView, group: '0@0' },
    { command: 'banksman.denyAll', when: onView, group: '0@1' },
    { command: 'banksman.showActivity', when: onView, group: 'navigation@8' },
    { command: 'banksman.showLog', when: onView, group: 'navigation@9' },
    { command: 'banksman.showPolicy', when: onView, group: '1_check@0' },
    { command: 'banksman.testCommand', when: onView, group: '1_check@0' },
    { command: 'banksman.doctor', when: onView, group: '1_check@1' },
    { command: 'banksman.verifyAudit', when: onView, group: '1_check@2' },
    { command: 'banksman.undoRun', when: onView, group: '1_check@3' },
    { command: 'banksman.setSecurityLevel', when: onView, group: '2_rules@1' },
    { command: 'banksman.autoApproveRules', when: onView, group: '2_rules@2' },
    { command: 'banksman.pauseAgents', when: onView, group: '2_rules@3' },
    { command: 'banksman.connectCluster', when: onView, group: '3_setup@0' },
    { command: 'banksman.openSettings', when: onView, group: '3_setup@0' },
    { command: 'banksman.setClusterToken', when: onView, group: '3_setup@1' },
    { command: 'banksman.copyMcpConfiguration', when: onView, group: '3_setup@2' },
    { command: 'banksman.governAgents', when: onView, group: '3_setup@3' },
    { command: 'banksman.openWalkthrough', when: onView, group: '3_setup@4' },
    { command: 'banksman.reload', when: onView, group: '4_restart@1' },
  ],
  'view/item/context': rowMenus,
  commandPalette: [
    // They belong to a row of a list.
    { command: 'banksman.loadMorePending', when: 'false' },
    { command: 'banksman.loadMoreHistory', when: 'false' },
    ...rowCommands.map(({ command }) => ({ command, when: 'false' })),
  ],
};

function listActions(view: string, name: string) {
  return [
    { command: `banksman.clearFilter${name}`, when: `${view} && banksman.filtered${name}`, group: 'navigation@1' },
    { command: `banksman.search${name}`, when: view, group: 'navigation@2' },
    { command: `banksman.filter${name}`, when: view, group: 'navigation@3' },
  ];
}
