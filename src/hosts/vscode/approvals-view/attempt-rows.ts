/** Calls whose outcome is unknown: rows above all others. */
import type { App } from '#kernel/app';
import type { AttemptView } from '#kernel/attempt';
import { showPlainly } from '#kernel/text/text';
import { t } from '../l10n.ts';
import type { ProblemRow } from './problem-rows.ts';

/** In no menu: a row names its call. */
export const seenCommand = 'banksman.seenAttempt';

/** A store that cannot be read says so elsewhere. */
export async function unknownAttempts(app: Pick<App, 'attempts'>): Promise<readonly AttemptView[]> {
  try {
    return (await app.attempts.list()).filter(({ standing }) => standing === 'unknown');
  } catch {
    return [];
  }
}

export function attemptRows(unknown: readonly AttemptView[]): readonly ProblemRow[] {
  return unknown.map((attempt) => ({
    label: t('Outcome unknown: {0}', showPlainly(attempt.tool, 60)),
    description: showPlainly(`${attempt.targets.join(', ')} (${attempt.agent})`, 160),
    tooltip: [...attemptLines(attempt), t('Select to mark it as seen.')].join('\n'),
    command: { command: seenCommand, title: t('Mark as Seen'), arguments: [attempt.call] },
  }));
}

/** What is known of it, and what to look at. */
export function attemptLines({ tool, targets, agent, begunAt, requestId, message = '', next = '' }: AttemptView): readonly string[] {
  const call = t('{0} by {1}, begun {2}', `${tool} ${targets.join(', ')}`, agent, begunAt);
  const what = requestId === undefined ? call : `${call}, ${t('request {0}', requestId)}`;
  return [what, message, next].filter((line) => line !== '').map((line) => showPlainly(line, 600));
}
