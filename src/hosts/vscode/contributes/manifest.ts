/** The derived part of package.json. */
import type { ToolDescription } from '#kernel/tool';
import { commandContributions, menus } from './commands.ts';
import { languageModelToolContributions } from './language-model-tools.ts';
import { mcpProviderId } from './names.ts';
import { chatParticipants } from './participant.ts';
import { settingContributions, windowSettings } from './settings.ts';
import { views, viewsContainers, viewsWelcome } from './views.ts';

const walkthroughs = [
  {
    id: 'banksman.start',
    title: 'Let an agent work on your cluster, safely',
    description: 'Connect Proxmox VE, ask in the chat, answer one dialog, check the trail.',
    icon: 'media/icon.png',
    steps: [
      {
        id: 'cluster',
        title: 'Connect a cluster, or try the demo',
        description:
          'The assistant asks for an address, a token and what to protect, tries each, and writes it at the end. The demo is an emulator in this window: nothing of yours is touched.\n[Connect a Cluster…](command:banksman.connectCluster)\n[Start the Demo](command:banksman.startDemo)',
        media: { markdown: 'media/walkthrough/cluster.md' },
        completionEvents: ['onSettingChanged:banksman.clusters', 'onCommand:banksman.startDemo'],
      },
      {
        id: 'protect',
        title: 'Protect what must not stop',
        description:
          'Nodes, guests, services and addresses that no tool may change, and that nobody can approve away.\n[Open the Setting](command:banksman.openSettings?%5B%22protected%22%5D)',
        media: { markdown: 'media/walkthrough/protect.md' },
        completionEvents: ['onSettingChanged:banksman.protected'],
      },
      {
        id: 'doctor',
        title: 'Look whether it works',
        description:
          'Each endpoint, certificate, token, ssh host, the store and the sandbox are tried, and what does not work has its next step.\n[Doctor](command:banksman.doctor)',
        media: { markdown: 'media/walkthrough/doctor.md' },
        completionEvents: ['onCommand:banksman.doctor'],
      },
      {
        id: 'ask',
        title: 'Ask in the chat',
        description:
          'In agent mode, ask for what you want to know or have done: “Which VMs are running?”, “Stop VM 100”.\n[Open Chat](command:workbench.action.chat.open)',
        media: { markdown: 'media/walkthrough/ask.md' },
        completionEvents: ['onCommand:workbench.action.chat.open'],
      },
      {
        id: 'answer',
        title: 'Answer in one place',
        description:
          'A call that can hurt waits for you: in a dialog that no command of the editor can press, and in this list.\n[Show Pending Approvals](command:banksman.showApprovals)',
        media: { markdown: 'media/walkthrough/answer.md' },
        completionEvents: ['onCommand:banksman.review', 'onCommand:banksman.showApprovals'],
      },
      {
        id: 'trail',
        title: 'Check the trail',
        description:
          'What changes anything is written down before it happens, in a chain that shows a change made afterwards.\n[Verify Audit Trail](command:banksman.verifyAudit)\n[Show Log](command:banksman.showLog)',
        media: { markdown: 'media/walkthrough/trail.md' },
        completionEvents: ['onCommand:banksman.verifyAudit'],
      },
    ],
  },
];

const settings: Readonly<Record<string, object>> = { ...settingContributions(), ...windowSettings() };

/** Top-level keys of package.json that the generator owns. */
export function manifestParts(tools: readonly ToolDescription[]) {
  return {
    icon: 'media/icon.png',
    // Texts of the running extension in other languages; those of this file lie beside it.
    l10n: './media/l10n',
    galleryBanner: { color: '#16212e', theme: 'dark' },
    // Files, shells and the sandbox are where the workspace is.
    extensionKind: ['workspace'],
    // The tools' own events are implied. The view's badge and the status bar have to be right before anybody looks.
    activationEvents: ['onStartupFinished'],
    capabilities: {
      untrustedWorkspaces: {
        supported: 'limited',
        description: 'In an untrusted workspace only tools that read run; everything else is refused.',
        restrictedConfigurations: Object.keys(settings),
      },
      virtualWorkspaces: {
        supported: 'limited',
        description: 'Tools for files and commands of the workspace need it on a disk; cluster tools work.',
      },
    },
    contributes: {
      languageModelTools: languageModelToolContributions(tools),
      mcpServerDefinitionProviders: [{ id: mcpProviderId, label: 'Banksman' }],
      chatParticipants,
      configuration: { title: 'Banksman', properties: settings },
      commands: commandContributions(tools),
      menus,
      viewsContainers,
      views,
      viewsWelcome,
      walkthroughs,
    },
  };
}
