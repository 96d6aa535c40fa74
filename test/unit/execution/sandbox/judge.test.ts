import { describe, expect, it } from 'vitest';
import { sandboxFinding } from '#app/doctor';
import { attempts, judge } from '#execution/sandbox/probe-sandbox';
import { limitedCommand } from '#execution/sandbox/sandbox-arguments';

const nonce = 'n0nce';
const output = (change: Readonly<Record<string, string | undefined>> = {}) => {
  const answers = { control: 'escaped', ...Object.fromEntries(Object.keys(attempts).map((name) => [name, 'held'])), ...change };
  const lines = Object.entries(answers).flatMap(([name, answer]) => (answer === undefined ? [] : [`${name}=${answer}`]));
  return `${lines.join('\n')}\ndone=${nonce}\n`;
};

describe('the judgement of a probe', () => {
  it('is enforced where every attempt was held', () => {
    expect(judge(output(), nonce, false)).toMatchObject({ state: 'enforced' });
  });

  it.each(Object.entries(attempts))('is degraded where %s got out', (name, words) => {
    expect(judge(output({ [name]: 'escaped' }), nonce, false)).toMatchObject({ state: 'degraded', reason: expect.stringContaining(words) });
  });

  it.each(Object.keys(attempts))('is degraded where the answer of %s is missing or another word', (name) => {
    expect(judge(output({ [name]: undefined }), nonce, false).state).toBe('degraded');
    expect(judge(output({ [name]: 'Held' }), nonce, false).state).toBe('degraded');
  });

  it('is degraded where the attempt that must succeed did not', () => {
    for (const control of ['held', undefined])
      expect(judge(output({ control }), nonce, false).reason).toContain('could not make its attempts');
  });

  it('says what could not be tried', () => {
    const { state, reason } = judge(output({ foreign_memory: 'untried' }), nonce, false);
    expect(state).toBe('enforced');
    expect(reason).toContain('not tried for want of tools: foreign_memory');
  });

  it('believes the host more than the inside', () => {
    expect(judge(output(), nonce, true)).toMatchObject({ state: 'degraded', reason: expect.stringContaining(attempts.write_outside) });
  });

  it.each(['', 'done=n0nce', 'done=other\n', output().replace(nonce, 'guess'), output().slice(0, 60), `${output()}more\n`])(
    'is degraded where the output was %j',
    (text) => {
      expect(judge(text, nonce, false).state).toBe('degraded');
    },
  );
});

describe('the line of doctor', () => {
  it('is fine where the sandbox is enforced', () => {
    expect(sandboxFinding({ state: 'enforced', reason: 'holds' }, true)).toMatchObject({
      topic: 'sandbox',
      state: 'ok',
      message: 'enforced: holds',
    });
  });

  it.each(['degraded', 'unavailable'] as const)('warns where it is %s, and fails where it is required', (state) => {
    expect(sandboxFinding({ state, reason: 'why' }, false)).toMatchObject({
      state: 'warning',
      message: `${state}: why`,
      remedy: expect.stringContaining('asks a person'),
    });
    expect(sandboxFinding({ state, reason: 'why' }, true)).toMatchObject({
      state: 'failed',
      remedy: expect.stringContaining('requireSandbox'),
    });
  });
});

describe('the command inside', () => {
  it('is one argument, whatever it says', () => {
    const text = `'; rm -rf "$HOME" $(id) \n\\ --`;
    const command = limitedCommand(text, { fileBytes: 1_025, tasks: 3, openFiles: 4, cpuSeconds: 5 });
    expect(command.at(-1)).toBe(text);
    expect(command.slice(0, -1).join(' ')).not.toContain('rm -rf');
    expect(command[4]).toMatch(/^read -r -n 1 -u 5 \|\| exit 125; .*; ulimit -c 0; ulimit -f 2; ulimit -u 3; ulimit -n 4; ulimit -t 5; /);
  });
});
