/** Tells when the audit trail is not the one that this editor saw. */
import { commands, type Disposable, window } from 'vscode';
import { toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { AppSession } from './app-session.ts';
import type { SecretStore } from './approval-key.ts';
import { lookAtTrail } from './trail-memory.ts';

/** Between two looks, in ms. */
const period = 60_000;

/** Looks when an App is ready, and then once a minute. */
export function watchTrail(session: AppSession, secrets: SecretStore, log: Log): Disposable {
  let isLooking = false;
  let hasLooked = false;
  const look = async () => {
    if (isLooking || session.state.kind !== 'ready') return;
    isLooking = true;
    try {
      const flaw = await session.use((app) => lookAtTrail(secrets, app));
      if (flaw !== undefined) void tell(flaw, log);
      else if (!hasLooked) log.info('the audit trail fits what this editor saw of it');
      hasLooked = true;
    } catch (thrown) {
      log.warn(`the audit trail cannot be compared with what was seen of it: ${toFault(thrown).message}`);
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void look(), period);
  const unsubscribe = session.onChange(() => void look());
  return {
    dispose: () => {
      clearInterval(timer);
      unsubscribe();
    },
  };
}

/** With a button, so that it stays until a person has seen it: it is told once. */
async function tell(flaw: string, log: Log): Promise<void> {
  log.error(flaw);
  const pressed = await window.showErrorMessage(`Banksman: ${flaw}`, 'Show Log');
  if (pressed !== undefined) await commands.executeCommand('banksman.showLog');
}
