import { describe, expect, it } from 'vitest';
import { showProgress } from '#hosts/cli/commands/call';

function told(verbose: boolean, isTTY: boolean | undefined, steps: number): readonly string[] {
  const lines: string[] = [];
  const tell = showProgress(verbose, { ...(isTTY === undefined ? {} : { isTTY }), write: (text) => lines.push(text) });
  for (let step = 1; step <= steps; step += 1) tell(`step ${step}`);
  return lines;
}

describe('progress', () => {
  it('is for a terminal, or for who asks', () => {
    expect(told(false, true, 2)).toEqual(['… step 1\n', '… step 2\n']);
    expect(told(true, undefined, 1)).toEqual(['… step 1\n']);
    expect(told(false, undefined, 2)).toEqual([]);
    expect(told(false, false, 2)).toEqual([]);
  });

  it('of a command that prints without end stops after a while, and says so once', () => {
    const lines = told(false, true, 10_000);
    expect(lines.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, index) => `… step ${index + 1}\n`));
    expect(lines.slice(100)).toEqual(['… more of this is not shown; the result has it\n']);
  });
});
