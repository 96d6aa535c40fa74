/**
 * Once a cluster was connected in this window, what looks as if agents should not touch it is offered for protection, with the reasons. Whatever
 * another extension presses here only makes things stricter: taking protection away again is agreed to in the gate (docs/adr/0022-agreed-configuration.md).
 */
import { ConfigurationTarget, type Disposable, type Memento, type QuickPickItem, type SecretStorage, window, workspace } from 'vscode';
import { tokenSecret } from '#app/clusters/bound-token';
import type { App, ProtectionSuggestion } from '#kernel/app';
import { toFault } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import type { Log } from '#kernel/ports/log';
import type { AppSession } from '../app-session.ts';
import { plainLabel } from '../commands/picks.ts';
import { inWords, t } from '../l10n.ts';
import { loadParts } from '../load-parts.ts';
import { notify } from '../notify.ts';

export interface OfferDeps {
  readonly session: AppSession;
  readonly secrets: Pick<SecretStorage, 'onDidChange'>;
  /** Of the profile: which clusters were offered already, and answered. */
  readonly memory: Memento;
  readonly log: Log;
}

const memoryKey = 'banksman.protectionOffered';
const lookMs = 15_000;

export function offerProtection(deps: OfferDeps): Disposable {
  const { session, secrets, log } = deps;
  let isDue = false;
  const offerIfDue = () => {
    if (!isDue || session.state.kind !== 'ready') return;
    isDue = false;
    void session.use((app) => offer(app, deps)).catch((thrown: unknown) => log.warn(`what to protect: ${toFault(thrown).message}`));
  };
  const items = [
    workspace.onDidChangeConfiguration((event) => (isDue ||= event.affectsConfiguration('banksman.clusters'))),
    secrets.onDidChange(({ key }) => (isDue ||= key.startsWith(tokenSecret('')))),
    { dispose: session.onChange(offerIfDue) },
  ];
  return { dispose: () => items.forEach((item) => void item.dispose()) };
}

/** Not waited for: the App must not stay open for a person who is away. */
async function offer(app: App, deps: OfferDeps): Promise<void> {
  const answered = deps.memory.get<readonly string[]>(memoryKey, []);
  const all = (await app.suggestions?.(AbortSignal.timeout(lookMs))) ?? [];
  const found = all.filter(({ cluster }) => !answered.includes(cluster));
  if (found.length > 0) void ask(found, deps);
}

async function ask(found: readonly ProtectionSuggestion[], { memory, log }: OfferDeps): Promise<void> {
  const [choose, never] = [t('Choose What to Protect…'), t('Do Not Protect')] as const;
  const clusters = [...new Set(found.map(({ cluster }) => cluster))];
  const what =
    found.length === 1
      ? t('Banksman: on {0} {1} looks as if agents should not touch it.', clusters.join(', '), wordsOf(found[0]))
      : t('Banksman: on {0} {1} guests and nodes look as if agents should not touch them.', clusters.join(', '), found.length);
  const pressed = await notify.info(what, choose, never);
  if (pressed === undefined) return;
  const chosen = pressed === choose ? await choosing(found) : [];
  if (chosen === undefined) return;
  // Remembered first: writing the settings starts the App anew.
  await rememberOffer(memory, clusters);
  if (chosen.length > 0) await protect(chosen).catch((thrown: unknown) => log.error(`nothing was protected: ${toFault(thrown).message}`));
}

type SuggestionItem = QuickPickItem & { readonly suggestion: ProtectionSuggestion };

/** Chosen already: who leaves one out has to say so. */
export function suggestionRow(suggestion: ProtectionSuggestion): SuggestionItem {
  return {
    label: plainLabel(wordsOf(suggestion)),
    description: plainLabel(suggestion.cluster),
    detail: plainLabel(inWords(suggestion.why)),
    picked: true,
    suggestion,
  };
}

async function choosing(found: readonly ProtectionSuggestion[]): Promise<readonly ProtectionSuggestion[] | undefined> {
  const items = found.map(suggestionRow);
  const options = {
    title: t('What to Protect'),
    placeHolder: t('No tool changes what is protected, and nobody can approve that away'),
    canPickMany: true,
    ignoreFocusOut: true,
  } as const;
  return (await window.showQuickPick(items, options))?.map(({ suggestion }) => suggestion);
}

function wordsOf(suggestion: ProtectionSuggestion | undefined): string {
  if (suggestion === undefined) return '';
  const { kind, name, called } = suggestion;
  return `${kind === 'guest' ? t('guest {0}', name) : t('node {0}', name)}${called === undefined ? '' : ` (${called})`}`;
}

/** Of these clusters it is not offered again. */
export async function rememberOffer(memory: Memento, clusters: readonly string[]): Promise<void> {
  await memory.update(memoryKey, [...new Set([...memory.get<readonly string[]>(memoryKey, []), ...clusters])]);
}

/** Into the user's settings: what is stricter counts at once. */
export async function protect(chosen: readonly ProtectionSuggestion[]): Promise<void> {
  const { withProtected } = await loadParts();
  const settings = workspace.getConfiguration('banksman');
  const before = settings.inspect('protected')?.globalValue;
  await settings.update('protected', withProtected(isJsonObject(before) ? before : {}, chosen), ConfigurationTarget.Global);
  notify.status(chosen.length === 1 ? t('Banksman: one more is protected') : t('Banksman: {0} more are protected', chosen.length));
}
