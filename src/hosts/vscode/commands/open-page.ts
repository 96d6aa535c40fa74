/** From the editor to the page on which people approve with a passkey: in the system's browser, never in the editor. */
import { commands, type Disposable, env, UIKind, Uri } from 'vscode';
import type { AppSession } from '../app-session.ts';
import { requestIdFrom } from '../approvals-view/approval-row.ts';
import { t } from '../l10n.ts';
import { tellFault } from '../notices.ts';
import { notify } from '../notify.ts';

/** The command, and `banksman.page` for menus: whether there is a page. */
export function registerOpenPage(session: AppSession): Disposable[] {
  const tellMenus = () => {
    const hasPage = session.state.kind === 'ready' && session.state.app.config.page !== undefined;
    void commands.executeCommand('setContext', 'banksman.page', hasPage);
  };
  tellMenus();
  return [
    { dispose: session.onChange(tellMenus) },
    commands.registerCommand('banksman.openPage', (argument: unknown) => openPage(session, pathFrom(argument))),
  ];
}

function pathFrom(argument: unknown): PagePath {
  const id = requestIdFrom(argument);
  return id === undefined ? '' : `r/${id}`;
}

type PagePath = '' | 'settings' | `r/${string}`;

/** Opens the page. What it shows decides nothing: a passkey does. */
export async function openPage(session: AppSession, path: PagePath): Promise<void> {
  try {
    const origin = await session.use(async ({ config }) => config.page);
    if (origin === undefined) {
      return void notify.info(t('No approval page is configured: `page` in the machine’s configuration file names it.'));
    }
    const address = `${origin}/${path}`;
    if (isElsewhere() && origin.startsWith('http://localhost')) return await offerAddress(origin, address);
    await env.openExternal(Uri.parse(address, true));
  } catch (thrown) {
    void tellFault(thrown);
  }
}

/** The window is not on the machine that this runs on, or it is a page in a browser itself. */
function isElsewhere(): boolean {
  return env.remoteName !== undefined || env.uiKind === UIKind.Web;
}

/** SECURITY: a remote editor opens `localhost` under a tunnel's port or its own origin, which every extension's webview has. No passkey counts there. */
async function offerAddress(origin: string, address: string): Promise<void> {
  const copy = t('Copy Address');
  const why = t(
    'The approval page is {0} of the machine that Banksman runs on. This editor would open it under another address, where no passkey counts: open it in a browser of that machine, or give the page an https name.',
    origin,
  );
  if ((await notify.info(why, copy)) === copy) await env.clipboard.writeText(address);
}
