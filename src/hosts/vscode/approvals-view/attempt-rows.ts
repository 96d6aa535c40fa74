/** Calls whose outcome is unknown: rows above all others. */
import type { App } from '#kernel/app';
import type { AttemptView } from '#kernel/attempt';
import { showPlainly } from '#kernel/text/text';
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
    label: `Outcome unknown: ${showPlainly(attempt.tool, 60)}`,
    description: showPlainly(`${attempt.targets.join(', ')} (${attempt.agent})`, 160),
    tooltip: [...attemptLines(attempt), 'Select to mark it as seen.'].join('\n'),
    command: { command: seenCommand, title: 'Mark as Seen', arguments: [attempt.call] },
  }));
}

/** What is known of it, and what to look at. */
export function attemptLines({ tool, targets, agent, begunAt, requestId, message = '', next = '' }: AttemptView): readonly string[] {
  const request = requestId === undefined ? '' : `, request ${requestId}`;
  const what = `${tool} ${targets.join(', ')} by ${agent}, begun ${begunAt}${request}`;
  return [what, message, next].filter((line) => line !== '').map((line) => showPlainly(line, 600));
}
