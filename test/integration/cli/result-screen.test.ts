/** What a call found, at a terminal and in a pipe. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { banksman, personAt } from './person.ts';
import { type Bench, startBench } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(async () => {
  await bench.close();
});

const words = (...more: string[]) => ['call', 'get_vms', '--config', bench.configFile, ...more];

/** A terminal that knows colours, whatever the tests run in: Node takes a build service's for one that knows none. */
const plainEnv = { TERM: 'xterm-256color', NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined };

/** @param columns what the terminal says of itself; left out: nothing */
async function atTerminal(env: NodeJS.ProcessEnv, columns = 100, ...more: string[]): Promise<string> {
  const line = `stty cols ${columns}; ${banksman(words(...more))} 2>/dev/null`;
  const { status, screen } = await personAt(bench).shell(line, [], { ...plainEnv, ...env });
  expect(status).toBe(0);
  return screen;
}

it('`tools` is a table at a terminal', async () => {
  const shown = async (more: string) =>
    (await personAt(bench).shell(`stty cols 60; ${banksman(['tools', '--group', 'security'])}${more}`, [], plainEnv)).screen;
  const screen = await shown('');
  expect(screen).toMatch(/^.*Name.*Tier.*Title/m);
  expect(screen).toMatch(/^get_security_log +\S*green\S* +Get security log$/m);
  expect(screen).not.toMatch(/[{}]/);
  for (const more of [' --json', ' --format json'])
    expect(JSON.parse(await shown(more))).toContainEqual(expect.objectContaining({ name: 'get_security_log' }));
});

describe('`call`', () => {
  it('shows a table at a terminal, in colours where they are wanted', async () => {
    const screen = await atTerminal({});
    expect(screen).toContain('\u001b[32mok\u001b[39m: 6 VMs, 2 running\n\n');
    expect(screen).toMatch(/^.*ID.*Node.*Name.*Status.*$/m);
    expect(screen).toContain('\n100  pve     web         \u001b[32mrunning');
    expect(screen).toMatch(/ of 2\.0 GiB/);
    expect(screen).not.toMatch(/[{}]/);
  });

  it.each<[string, NodeJS.ProcessEnv, boolean]>([
    ['NO_COLOR', { NO_COLOR: '1' }, false],
    ['TERM=dumb', { TERM: 'dumb' }, false],
    ['FORCE_COLOR=0', { FORCE_COLOR: '0' }, false],
    ['FORCE_COLOR over TERM=dumb', { TERM: 'dumb', FORCE_COLOR: '1' }, true],
  ])('respects %s', async (_name, env, colours) => {
    expect((await atTerminal(env)).includes('\u001b')).toBe(colours);
  });

  it('is as wide as the terminal, and 80 where that does not know', async () => {
    const widths = async (columns: number) =>
      Math.max(...(await atTerminal({ NO_COLOR: '1' }, columns)).split('\n').map((line) => line.length));
    expect(await widths(60)).toBeLessThanOrEqual(60);
    expect(await widths(0)).toBeLessThanOrEqual(80);
  });

  it('prints what it always did into a pipe, and with `--json`', async () => {
    const asJson = JSON.parse(await atTerminal({}, 100, '--json')) as { result: object };
    expect(asJson).toMatchObject({ status: 'ok', result: { total: 6 } });
    const { stdout } = await bench.run(words(), { env: { FORCE_COLOR: '1' } });
    const [first, ...rest] = stdout.split('\n');
    expect(first).toBe('ok: 6 VMs, 2 running');
    expect(stdout).toBe(`${first}\n${JSON.stringify(JSON.parse(rest.join('\n')), null, 2)}\n`);
  });
});
