/** What each coding agent of this machine may do past Banksman in this window's folder, and what its hooks are worth, for people. */
import { homedir } from 'node:os';
import { workspace } from 'vscode';
import type { HookAgent } from '#hosts/hook/agents';
import type { HookStanding } from '#hosts/hook/install-hook';
import type { App, Finding } from '#kernel/app';
import { showPlainly } from '#kernel/text/text';
import { t } from '../l10n.ts';
import { firstFolder } from './answer-hooks.ts';

/** The agent that runs in a window. */
export const windowAgent = 'vscode';

/** Where agents of this window work. */
export function projectFolder(): string {
  return firstFolder() ?? homedir();
}

/**
 * What the editor itself says of the hooks of the agent in this window: its settings as they count, a folder's and an administrator's among them.
 * @param folders where hooks are: one that it reads is enough
 */
export function offInWindow(folders: readonly string[]): readonly string[] {
  const chat = workspace.getConfiguration('chat', workspace.workspaceFolders?.[0]?.uri);
  const read = chat.get<Readonly<Record<string, unknown>>>('hookFilesLocations');
  const isRead = folders.length === 0 || folders.some((folder) => read?.[folder] !== false);
  return [
    ...(workspace.isTrusted ? [] : [t('the folder, which nobody has trusted')]),
    ...(chat.get('useHooks') === false ? [t('the setting {0}', '`chat.useHooks`')] : []),
    ...(chat.get('hooks.allowManagedOnly') === true ? [t('the policy {0}', '`ChatAllowManagedHooksOnly`')] : []),
    ...(isRead ? [] : [t('the setting {0}', '`chat.hookFilesLocations`')]),
  ];
}

/** As the command line's, and with what only the window knows. */
export async function doctorOfWindow(app: App, signal: AbortSignal, stateDir: string): Promise<readonly Finding[]> {
  const { hookFindings } = await import('#hosts/hook/install-hook');
  const said = new Map([[windowAgent, offInWindow]]);
  return [...(await app.doctor(signal)), ...hookFindings(stateDir, projectFolder(), said)];
}

const kindNames: Readonly<Record<keyof HookAgent['covers'], string>> = {
  shell: t('shell'),
  edits: t('edits'),
  reads: t('reads'),
  fetches: t('fetches'),
  mcp: t('MCP calls'),
};

const kindsOf = ({ covers }: HookAgent, as: 'documented' | 'no') =>
  (Object.keys(kindNames) as (keyof typeof kindNames)[]).filter((kind) => covers[kind] === as).map((kind) => kindNames[kind]);

/** In a word, and what it means. */
export function standingWords(
  agent: HookAgent,
  { there, isHeld, offBy }: HookStanding,
): { readonly word: string; readonly meaning: string } {
  const covered = kindsOf(agent, 'documented').join(', ');
  const not = kindsOf(agent, 'no').join(', ');
  const past = not === '' ? '' : ` ${t('Its hook does not cover: {0}.', not)}`;
  if (there.length === 0)
    return {
      word: t('no hook'),
      meaning: t('Its own {0} are not judged, and not in the trail.', [covered, not].filter(Boolean).join(', ')),
    };
  if (offBy.length > 0)
    return {
      word: t('$(warning) hook switched off'),
      meaning: t('By {0}. Its own {1} are not judged, and not in the trail.', offBy.map((by) => showPlainly(by, 300)).join(', '), covered),
    };
  if (isHeld) return { word: t('$(pass) managed hook'), meaning: `${t('Its own {0} are judged and in the trail.', covered)}${past}` };
  const advice = t('Its own {0} are judged and in the trail, until a repository or a program of this account takes the hook out.', covered);
  return { word: t('$(pass) hook, as advice'), meaning: `${advice}${past}` };
}
