/** What a person is told once: that the audit trail is not the one that this editor saw, and what keeps Banksman from working. */
import { type Command, commands, type Disposable, Uri } from 'vscode';
import { type Fault, toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { AppSession } from './app-session.ts';
import type { SecretStore } from './approval-key.ts';
import { faultyFile, isOfConfiguration, problemNotice } from './approvals-view/problem-rows.ts';
import { faultWords } from './fault-words.ts';
import { t } from './l10n.ts';
import { notify } from './notify.ts';
import { unusedWords } from './status-text.ts';
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
  const pressed = await notify.error(`Banksman: ${flaw}`, t('Show Log'));
  if (pressed !== undefined) await commands.executeCommand('banksman.showLog');
}

export function reportProblems(session: AppSession, log: Log): Disposable {
  let reported = '';
  let toldUnused = '';
  const report = () => {
    const { state } = session;
    if (state.kind === 'ready') {
      reported = '';
      const { unused } = state.app.config;
      if (unused !== undefined && toldUnused !== unused.join()) {
        toldUnused = unused.join();
        log.warn(unusedWords(unused));
        void notify.warning(`Banksman: ${unusedWords(unused)}.`);
      }
      log.info(`started: store ${state.app.storeLocation}, sandbox ${state.app.sandboxState().state} (${state.app.sandboxState().reason})`);
    }
    // Settings are typed key by key: the same problem is not announced again for each of them.
    if (state.kind !== 'problem' || state.fault.message === reported) return;
    reported = state.fault.message;
    log.error(state.fault.message);
    void tellProblem(state.fault);
  };
  return { dispose: session.onChange(report) };
}

/** The next step, for buttons and rows. */
export function remedyOf(fault: Fault): Command {
  const file = faultyFile(fault);
  if (file !== undefined) return { title: t('Open File'), command: 'vscode.open', arguments: [Uri.file(file)] };
  if (fault.code === 'bad_config') return { title: t('Open Settings'), command: 'banksman.openSettings' };
  return { title: t('Try Again'), command: 'banksman.reload' };
}

/** What went wrong with something that a person did, and a way on. */
export async function tellFault(thrown: unknown): Promise<void> {
  const fault = toFault(thrown);
  if (isOfConfiguration(fault)) await tellProblem(fault);
  else await notify.error(`Banksman: ${faultWords(fault)}`);
}

async function tellProblem(fault: Fault): Promise<void> {
  const { title, command, arguments: given = [] } = remedyOf(fault);
  const pressed = await notify.error(problemNotice(fault), title, t('Show Log'));
  if (pressed === title) await commands.executeCommand(command, ...(given as unknown[]));
  else if (pressed !== undefined) await commands.executeCommand('banksman.showLog');
}
