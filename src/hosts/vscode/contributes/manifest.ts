/** The derived part of package.json. */
import { configSchema } from '#app/config';
import type { ToolDescription } from '#kernel/tool';
import { commandContributions } from './commands.ts';
import { autoApprovalDefaults, languageModelToolContributions } from './language-model-tools.ts';
import { menuContributions } from './menus.ts';
import { settingContributions } from './settings.ts';
import { views, viewsContainers, viewsWelcome } from './views.ts';
import { walkthroughs } from './walkthrough.ts';

/** Top-level keys of package.json that the generator owns. */
export function manifestParts(tools: readonly ToolDescription[]) {
  return {
    icon: 'media/icon.png',
    galleryBanner: { color: '#16212e', theme: 'dark' },
    // Files, shells and the sandbox are where the workspace is.
    extensionKind: ['workspace'],
    // The tools' own events are implied. The view's badge and the status bar have to be right before anybody looks.
    activationEvents: ['onStartupFinished'],
    capabilities: {
      untrustedWorkspaces: {
        supported: 'limited',
        description: 'In an untrusted workspace only tools that read run; everything else is refused.',
        restrictedConfigurations: Object.keys(configSchema.shape).map((key) => `banksman.${key}`),
      },
      virtualWorkspaces: {
        supported: 'limited',
        description: 'Tools for files and commands of the workspace need it on a disk; cluster tools work.',
      },
    },
    contributes: {
      languageModelTools: languageModelToolContributions(tools),
      configurationDefaults: { 'chat.tools.eligibleForAutoApproval': autoApprovalDefaults(tools) },
      configuration: { title: 'Banksman', properties: settingContributions() },
      commands: commandContributions(tools),
      menus: menuContributions(tools),
      viewsContainers,
      views,
      viewsWelcome,
      walkthroughs,
    },
  };
}
