/** `banksman top` at a real terminal: live, answered only with the proof that `approvals approve` asks for, and nowhere else than at a terminal. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { banksman, type Person, passphrase, personAt } from './person.ts';
import { type Bench, startBench } from './support.ts';
import { quoted } from './terminal.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

let bench: Bench;
let person: Person;

beforeAll(async () => {
  bench = await startBench();
  mkdirSync(path.dirname(bench.machineFile), { recursive: true });
  writeFileSync(bench.machineFile, JSON.stringify(bench.config), { mode: 0o600 });
  person = personAt(bench);
  await person.createApprover('ops');
});
afterAll(() => bench?.close());

const sized = (width: number, height: number) => `stty rows ${height} cols ${width}; ${banksman(['top'])}`;
const [screenOn, screenOff] = ['\u001b[?1049h', '\u001b[?1049l'];

async function ask(tool: string, vmid: number): Promise<string> {
  const { outcome } = await bench.call(tool, { vmid });
  expect(outcome).toMatchObject({ status: 'pending', request_id: expect.any(String) });
  return outcome.request_id ?? '';
}

const statusOf = async (id: string) =>
  (JSON.parse((await bench.run(['approvals', 'show', id, '--json'])).stdout) as { status: string }).status;

describe('banksman top', () => {
  it('shows the cluster, follows the terminal’s size and leaves the screen as it was', async () => {
    const narrow = path.join(bench.folder, 'narrow');
    const shrink = `(while [ ! -e ${quoted(narrow)} ]; do sleep 0.1; done; stty rows 8 cols 30 </dev/tty) &`;
    const shrunk = () => {
      writeFileSync(narrow, '');
      return '';
    };
    const { status, screen } = await person.shell(`stty rows 40 cols 160; ${shrink} ${banksman(['top'])}`, [
      ['3 of 3 nodes online', shrunk],
      ['…\u001b[K', 'q'],
    ]);
    expect(status).toBe(0);
    expect(screen).toContain('100 web');
    expect(screen.indexOf(screenOn)).toBeLessThan(screen.lastIndexOf(screenOff));
    const last = screen.slice(screen.lastIndexOf('\u001b[H'), screen.lastIndexOf('\u001b[J')).split('\n');
    expect(last).toHaveLength(8);
  });

  it('shows a request the moment it is made, and approves the chosen one with code and passphrase alone', async () => {
    const other = await ask('start_vm', 101);
    let id = '';
    const code = (screen: string) => `${/one-time code: (ott-\w+)/.exec(screen.slice(screen.indexOf(screenOff)))?.[1] ?? ''}\r`;
    const { status, screen } = await person.shell(`${sized(160, 40)}; ${banksman(['approvals', 'list', '--all'])}`, [
      [
        `> ${other}`,
        () => {
          void ask('restart_vm', 100).then((made) => {
            id = made;
          });
          return '';
        },
      ],
      ['Restart VM 100', '\u001b[B'],
      ['> req-', 'a'],
      ['one-time code (', code],
      ['passphrase of approver', `${passphrase}\r`],
      ['approved once: Restart VM 100', ''],
      ['Enter: back to top', '\r'],
      [screenOn, 'q'],
    ]);
    expect(status).toBe(0);
    expect(screen).not.toContain(passphrase.slice(0, 5));
    expect(await statusOf(id)).toBe('approved');
    expect(await statusOf(other)).toBe('pending');
    expect((await bench.call('restart_vm', { vmid: 100 })).outcome).toMatchObject({ status: 'ok', request_id: id });
  });

  it('approves nothing for who has no code or passphrase, and denies only after a word', async () => {
    const id = await ask('stop_vm', 100);
    const wrong = await person.shell(sized(120, 30), [
      ['Stop VM 100', 'jjjjj'],
      [`> ${id}`, 'a'],
      ['one-time code (', 'ott-00000000\r'],
      ['that is not the one-time code', ''],
      ['Enter: back to top', '\r'],
      [screenOn, ''],
      [`> ${id}`, 'd'],
      ['type `deny`', 'no\r'],
      // There, too, it ends.
      ['Enter: back to top', '\u0003'],
    ]);
    expect(wrong.status).toBe(0);
    expect(wrong.screen.split(screenOn)).toHaveLength(3);
    expect(await statusOf(id)).toBe('pending');
    const denied = await person.shell(sized(120, 30), [
      ['Stop VM 100', 'jjjjj'],
      [`> ${id}`, 'd'],
      ['type `deny`', 'deny\r'],
      ['Enter: back to top', '\r'],
      [screenOn, 'q'],
    ]);
    expect(denied.status).toBe(0);
    expect(await statusOf(id)).toBe('denied');
    // The choice moves on by itself when a request ends: what is denied is shown first, as what is approved is.
    const asked = denied.screen.slice(denied.screen.indexOf(screenOff), denied.screen.indexOf('type `deny`'));
    expect(asked).toContain('Stop VM 100');
    // Who denies needs no code, and that of somebody who is about to approve stays good.
    expect(asked).not.toContain('one-time code');
  });

  it('has no colours where nobody wants them, and shows nothing of a title that a terminal obeys', async () => {
    const plain = await person.shell(sized(120, 30), [['3 of 3 nodes online', 'q']], { NO_COLOR: '1' });
    expect(plain.screen).not.toMatch(new RegExp(`${String.fromCharCode(27)}\\[\\d+m`));
  });

  it.each([
    ['a pipe', []],
    ['a pipe with what somebody might type', ['a', '\n']],
  ])('is refused through %s', async (_what, typed) => {
    const { status, stdout, stderr } = await bench.run(['top'], { stdin: typed.join('') });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/`top` needs a terminal with a person at it; .*approvals list --json/);
  });
});
