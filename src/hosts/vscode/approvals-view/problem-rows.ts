/** What keeps Banksman from working, as rows of the tree. */
import type { Fault } from '#kernel/errors';
import { showPlainly } from '#kernel/text';

export interface ProblemRow {
  readonly label: string;
  readonly description: string;
  /** Plain text. */
  readonly tooltip: string;
}

/** A bad configuration has a row per named field; any other problem has one row. */
export function problemRows(fault: Fault): readonly ProblemRow[] {
  if (fault.code !== 'bad_config')
    return [{ label: 'Banksman could not start', description: showPlainly(fault.message), tooltip: withNext(fault) }];
  const text = fault.message.replace(/^settings `banksman\.\*`: /, '');
  return text.split(' | ').map((line) => {
    const field = /^`([^`]+)`: (.*)$/s.exec(line);
    const label = field ? `banksman.${field[1]}` : 'Settings';
    return {
      label: showPlainly(label, 120),
      description: showPlainly(field?.[2] ?? line),
      tooltip: `${showPlainly(line, 1000)}\nSelect to open the settings.`,
    };
  });
}

function withNext(fault: Fault): string {
  return [fault.message, fault.next]
    .filter((part) => part !== undefined)
    .map((part) => showPlainly(part, 1000))
    .join('\n');
}
