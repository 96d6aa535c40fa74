/** What keeps Banksman from working, as rows of the tree and as one sentence. */
import { basename } from 'node:path';
import { defaultConfigFile } from '#app/config/paths';
import type { App } from '#kernel/app';
import type { AttemptView } from '#kernel/attempt';
import type { Fault } from '#kernel/errors';
import { showPlainly } from '#kernel/text/text';
import { faultTexts } from '../fault-words.ts';
import { t } from '../l10n.ts';

const ofSettings = 'settings `banksman.*`: ';

export interface ProblemRow {
  readonly label: string;
  readonly description: string;
  /** Plain text. */
  readonly tooltip: string;
  /** That it is about. */
  readonly file?: string;
  /** Absent: the file is opened, or else the settings. */
  readonly command?: { readonly command: string; readonly title: string; readonly arguments: readonly string[] };
}

/** A bad configuration has a row per named field; any other problem has one row. */
export function problemRows(fault: Fault): readonly ProblemRow[] {
  if (fault.code !== 'bad_config') {
    const { message, next } = faultTexts(fault);
    const again = { command: 'banksman.reload', title: t('Try Again'), arguments: [] };
    const tooltip = sentences(message, next, t('Select to try again.'));
    return [{ label: t('Could not start'), description: showPlainly(message), tooltip, command: again }];
  }
  const file = faultyFile(fault);
  return configLines(fault).map((line) => {
    const field = /^(?:line \d+: )?`([^`]+)`: (.*)$/s.exec(line);
    const row = {
      label: showPlainly(field?.[1] ?? (file === undefined ? 'settings' : basename(file)), 120),
      description: showPlainly(field?.[2] ?? line),
    };
    return file === undefined
      ? { ...row, tooltip: sentences(`banksman.${line.replace(/^`([^`]+)`/, '$1')}`, t('Select to open the settings.')) }
      : { ...row, tooltip: sentences(file, line, t('Select to open the file.')), file };
  });
}

/** The machine's configuration file, where a fault is about that; undefined: it is about the settings. */
export function faultyFile({ code, message }: Pick<Fault, 'code' | 'message'>): string | undefined {
  const file = defaultConfigFile();
  return code === 'bad_config' && message.startsWith(`${file}: `) ? file : undefined;
}

/** It keeps every tool from running, and is put right in the settings or in the machine's file. */
export function isOfConfiguration(fault: Fault): boolean {
  return faultyFile(fault) !== undefined || (fault.code === 'bad_config' && fault.message.startsWith(ofSettings));
}

/** Above the rows. */
export function problemHeadline(fault: Fault): string {
  if (fault.code !== 'bad_config') return t('Banksman could not start, so no tool runs.');
  const file = faultyFile(fault);
  if (file !== undefined) return t('{0} is wrong, so no tool runs.', showPlainly(basename(file), 120));
  const count = configLines(fault).length;
  return count === 1 ? t('One setting is wrong, so no tool runs.') : t('{0} settings are wrong, so no tool runs.', count);
}

/** For a notification: the first problem, and how many more. */
export function problemNotice(fault: Fault): string {
  if (fault.code !== 'bad_config') return t('Banksman could not start: {0}', showPlainly(faultTexts(fault).message, 400));
  const [first = '', ...more] = configLines(fault);
  const rest = more.length === 0 ? '' : t(' (and {0} more)', more.length);
  const file = faultyFile(fault);
  if (file !== undefined)
    return t('Banksman: no tool runs until {0} is right. {1}{2}', showPlainly(file, 200), showPlainly(first, 400), rest);
  return t('Banksman: no tool runs until the settings are right. {0}{1}', showPlainly(first.replace(/^`/, '`banksman.'), 400), rest);
}

function configLines(fault: Fault): string[] {
  const file = faultyFile(fault);
  const said = file === undefined ? fault.message.replace(ofSettings, '') : fault.message.slice(file.length + ': '.length);
  return said.split(' | ');
}

function sentences(...parts: readonly (string | undefined)[]): string {
  return parts
    .filter((part) => part !== undefined)
    .map((part) => showPlainly(part, 1000))
    .join('\n');
}

// Calls whose outcome is unknown: rows above all others.

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
