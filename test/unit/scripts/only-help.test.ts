import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../../..');

/** What would go on must not get far: no port is `none`, and nothing can be started without a PATH. */
function started(script: string, ...words: string[]) {
  const env = { BANKSMAN_PORT: 'none', PATH: '' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(root, 'scripts', script), ...words], { encoding: 'utf8', env });
  return { status, stdout, stderr };
}

describe.each([
  ['start.mjs', 'npm start', /BANKSMAN_PORT/],
  ['test.mjs', 'npm test', /npm run test:unit/],
])('%s', (script, command, usage) => {
  it.each(['--help', '-h'])('says with %s what it does, and does nothing', (word) => {
    expect(started(script, word)).toEqual({ status: 0, stdout: expect.stringMatching(usage), stderr: '' });
  });

  it.each(['--port=1', 'x'])('refuses %s instead of starting everything', (word) => {
    const { status, stdout, stderr } = started(script, word);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^${command}: unexpected \`${word}\`; it takes no arguments\n`));
  });
});
