/** A person is told of requests that came, as they set it. What the editor's stable API cannot do is a sound: docs/approvals.md. */
import { commands, window, workspace } from 'vscode';
import type { App } from '#kernel/app';
import type { RequestRecord } from '#kernel/approval/request';
import type { AppSession } from './app-session.ts';
import { Rereader } from './approvals-view/rereader.ts';
import { newsInWords, toTell } from './attention.ts';
import { viewId } from './contributes/views.ts';
import type { Disposable } from './disposables.ts';
import { t } from './l10n.ts';
import { notify } from './notify.ts';

/** More at once are a number to whoever is told. */
const mostRead = 100;
/** While one is on the screen no other covers it, for so long. */
const restMs = 15_000;

interface WatchOptions {
  readonly session: AppSession;
  review(id: string): Promise<unknown>;
  onError(error: unknown): void;
}

export function watchRequests({ session, review, onError }: WatchOptions): Disposable {
  /** undefined before the first look: what waited then is no news. */
  let known: ReadonlySet<string> | undefined;
  let unseen: readonly RequestRecord[] = [];
  let restsUntil = 0;
  const read = async (app: App | undefined) => {
    if (app === undefined) return;
    const { records } = await app.approvals.list({ statuses: ['pending'], limit: mostRead });
    const fresh = known === undefined ? [] : records.filter(({ id }) => known?.has(id) === false);
    known = new Set(records.map(({ id }) => id));
    unseen = [...unseen, ...tellable(fresh)].filter(({ id }) => known?.has(id));
    if (unseen.length === 0 || performance.now() < restsUntil) return;
    const news = unseen;
    unseen = [];
    restsUntil = performance.now() + restMs;
    void tell(news, review)
      .catch(onError)
      .finally(() => {
        restsUntil = 0;
      });
  };
  return new Rereader({ session, onError, everyMs: restMs, follow: (app, changed) => app.approvals.onChange(changed), read });
}

/** SECURITY: the user's own settings alone; a folder must not silence what asks. */
function tellable(fresh: readonly RequestRecord[]): readonly RequestRecord[] {
  const own = workspace.getConfiguration('banksman');
  const attention = { notify: own.inspect('notify')?.globalValue, notifyWhen: own.inspect('notifyWhen')?.globalValue };
  return toTell(fresh, attention, window.state.focused);
}

/** A program can press its buttons: one leads to the dialog, the other to the list. */
async function tell(news: readonly RequestRecord[], review: WatchOptions['review']): Promise<void> {
  const [only, ...more] = news;
  if (only === undefined) return;
  const buttons = more.length === 0 ? [t('Review'), t('Show All')] : [t('Show All')];
  const pressed = await notify.info(newsInWords(news), ...buttons);
  if (pressed === undefined) return;
  if (pressed === buttons.at(-1)) await commands.executeCommand(`${viewId}.focus`);
  else await review(only.id);
}
