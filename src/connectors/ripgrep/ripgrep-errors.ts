/** What ripgrep says of a pattern it does not take, in our words. */
import type { Fault } from '#kernel/errors';
import { badPattern } from './search-pattern.ts';

/** The fault of a refused pattern; undefined where stderr is about something else. */
export function patternFault(stderr: string): Fault | undefined {
  const parse = /regex parse error:\n([\s\S]*?)^error: (.+)$/m.exec(stderr);
  if (parse !== null) return badPattern(`${parse[2]}${placeOf(parse[1] ?? '')}`);
  // Up to ripgrep 13, which Debian 12 has, without a name in front and with a full stop.
  const other = /^(?:rg: )?(.*(?:not allowed in a regex|exceeds size limit|error parsing glob|regex could not be compiled).*?)\.?$/im.exec(
    stderr,
  )?.[1];
  return other === undefined ? undefined : badPattern(other);
}

/** ` (at character 3)`, from the line of carets under the pattern. */
function placeOf(shown: string): string {
  const [pattern = '', carets = ''] = shown.split('\n');
  const column = carets.indexOf('^');
  if (column < 0) return '';
  const indent = /^ */.exec(pattern)?.[0].length ?? 0;
  // ripgrep puts the pattern into `(?:…)` before it is parsed.
  const wrapper = pattern.slice(indent).startsWith('(?:') ? 3 : 0;
  return ` (at character ${Math.max(1, column - indent - wrapper + 1)})`;
}
