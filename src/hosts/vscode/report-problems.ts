/** Says once, in words and with a way to the remedy, what keeps Banksman from working. */
import { commands, type Disposable, window } from 'vscode';
import type { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { AppSession } from './app-session.ts';
import { problemNotice } from './approvals-view/problem-rows.ts';

export function reportProblems(session: AppSession, log: Log): Disposable {
  let reported = '';
  const report = () => {
    const { state } = session;
    if (state.kind === 'ready') {
      reported = '';
      log.info(`started: store ${state.app.storeLocation}, sandbox ${state.app.sandboxState().state} (${state.app.sandboxState().reason})`);
    }
    // Settings are typed key by key: the same problem is not announced again for each of them.
    if (state.kind !== 'problem' || state.fault.message === reported) return;
    reported = state.fault.message;
    log.error(state.fault.message);
    void tell(state.fault);
  };
  return { dispose: session.onChange(report) };
}

async function tell(fault: Fault): Promise<void> {
  const [button, command] = fault.code === 'bad_config' ? ['Open Settings', 'banksman.openSettings'] : ['Try Again', 'banksman.reload'];
  const pressed = await window.showErrorMessage(problemNotice(fault), button, 'Show Log');
  if (pressed === button) await commands.executeCommand(command);
  if (pressed === 'Show Log') await commands.executeCommand('banksman.showLog');
}
