/** *Mark as Seen*, of a call whose outcome is unknown: a person confirms it in a modal. */
import { commands, type Disposable } from 'vscode';
import type { AppSession } from '../app-session.ts';
import { attemptLines, seenCommand, unknownAttempts } from '../approvals-view/problem-rows.ts';
import { faultWords } from '../fault-words.ts';
import { type ConfirmDeps, confirmRun } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';

/** @param look draws the rows anew */
export function registerSeenAttempt(session: AppSession, confirm: ConfirmDeps, person: string, look: () => void): Disposable {
  const mark = (call: unknown) =>
    session.use(async (app) => {
      const attempt = (await unknownAttempts(app)).find((one) => one.call === call);
      if (attempt === undefined) return;
      const question = {
        key: `seen:${attempt.call}`,
        title: t('Have you seen what became of this call?'),
        detail: [...attemptLines(attempt), t('It is no longer listed first then. The trail keeps it.')].join('\n'),
        proceed: t('Mark as Seen'),
        stay: t('Leave It'),
        harmless: true,
      } as const;
      if (await confirmRun(question, confirm)) await app.attempts.seen(attempt.call, person);
      look();
    });
  return commands.registerCommand(seenCommand, (call: unknown) =>
    mark(call).catch((thrown: unknown) => confirm.dialogs.tell('error', t('Not marked: {0}', faultWords(thrown)))),
  );
}
