/** A passkey from the link to the first call that ran on it: the program at a terminal, the page's side in this process. */
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parseConfig } from '#app/config/config';
import { createApp } from '#app/create-app';
import { createEnrolDesk } from '#app/people/enrolments';
import { asOwnerOf } from '#files/folder-owner';
import { pageOrigin, type SoftwareKey, softwareKey } from '../approval/software-key.ts';
import { type Person, personAt } from './person.ts';
import { type Bench, startBench } from './support.ts';
import type { Dialogue } from './terminal.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

let bench: Bench;
let person: Person;
beforeAll(async () => {
  bench = await startBench();
  person = personAt(bench);
});
afterAll(() => bench.close());

const pins = () => (JSON.parse(readFileSync(bench.machineFile, 'utf8')) as { approvers: { name: string; key: string }[] }).approvers;

/** Opens the link that stands on the screen, as the page does; what it showed comes back. */
function opening(key: SoftwareKey, answer: string): { readonly dialogue: Dialogue; readonly shown: () => Promise<unknown> } {
  let shown: Promise<unknown> = Promise.resolve(undefined);
  const open = async (link: string) => {
    const desk = createEnrolDesk(bench.state, pageOrigin);
    const begun = await desk.beginEnrol(link);
    return begun.ok ? desk.finishEnrol(link, key.create(begun.options.challenge)) : begun;
  };
  const dialogue: Dialogue = [
    [
      'waiting',
      (screen) => {
        const link = /enrol#([A-Za-z0-9_-]{43})/.exec(screen)?.[1] ?? '';
        shown = asOwnerOf(bench.state, () => open(link));
        return false;
      },
    ],
    ['Type `yes` to pin it', `${answer}\r`],
  ];
  return { dialogue, shown: () => shown };
}

const enroll = (name: string, more: readonly string[] = []) => [
  'approvers',
  'enroll',
  name,
  '--display',
  'outside',
  '--origin',
  pageOrigin,
  ...more,
];

describe('a passkey', () => {
  const phone = softwareKey();

  it('is not pinned where the person says that the page shows another fingerprint', async () => {
    const { dialogue } = opening(softwareKey(), 'no');
    const { status, screen } = await person.at(enroll('alice-phone', ['--person', 'alice']), dialogue);
    expect(screen).toContain('nothing is pinned');
    expect(status).toBe(1);
    expect((await bench.run(['approvers', 'list', '--json'])).stdout).toBe('[]\n');
    expect(readdirSync(join(bench.state, 'enrolments'))).toEqual([]);
  });

  it('ends with Ctrl+C while it waits, and leaves no link', async () => {
    const { status } = await person.at(enroll('alice-phone', ['--person', 'alice']), [['waiting', '\u0003']]);
    expect(status).not.toBe(0);
    expect(readdirSync(join(bench.state, 'enrolments'))).toEqual([]);
  });

  it('is pinned once both sides show one fingerprint, and that is in the trail', async () => {
    const { dialogue, shown } = opening(phone, 'yes');
    const { status, screen } = await person.at(enroll('alice-phone', ['--person', 'alice']), dialogue);
    expect({ status, shown: await shown() }).toEqual({
      status: 0,
      shown: { ok: true, name: 'alice-phone', fingerprint: phone.fingerprint },
    });
    expect(screen).toContain(`fingerprint: ${phone.fingerprint}`);
    expect(pins()).toEqual([expect.objectContaining({ name: 'alice-phone', person: 'alice', key: phone.pin.key })]);
    const [entry] = JSON.parse((await bench.run(['approvers', 'list', '--json'])).stdout) as unknown[];
    expect(entry).toMatchObject({
      name: 'alice-phone',
      person: 'alice',
      display: 'outside',
      origin: pageOrigin,
      key_id: phone.fingerprint,
      pinned: 'machine',
    });
    const trail = (await bench.run(['audit', 'tail', '--json'])).stdout;
    expect(trail).toContain('approver.trusted');
    expect(trail).toContain(phone.pin.key);
  });

  it('approves a call at the page; the call then runs, once', async () => {
    const { outcome } = await bench.call('stop_vm', { vmid: 100 });
    const id = outcome.request_id ?? '';
    const app = await createApp({
      config: parseConfig({}, 'test'),
      baseDir: bench.folder,
      stateDir: bench.state,
      configFile: bench.machineFile,
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
      via: 'cli',
      version: 'test',
    });
    try {
      const desk = app.passkeyDesk(pageOrigin);
      expect(await desk.approvers()).toMatchObject([
        { name: 'alice-phone', person: 'alice', display: 'outside', fingerprint: phone.fingerprint },
      ]);
      const card = await app.approvals.card(id);
      const begun = await desk.beginAnswer({
        requestId: id,
        digest: card?.record.digest ?? '',
        decision: 'approve',
        approver: 'alice-phone',
      });
      if (!('options' in begun)) throw new Error(begun.message);
      expect(await desk.finishAnswer(phone.get(begun.options.challenge))).toMatchObject({ ok: true, code: 'approved' });
    } finally {
      await app.close();
    }
    expect((await bench.call('stop_vm', { vmid: 100 })).outcome).toMatchObject({ status: 'ok' });
    expect((await bench.call('stop_vm', { vmid: 100 })).outcome.status).not.toBe('ok');
  });

  it('pinned, the next one needs somebody to vouch: it is made, and not pinned', async () => {
    const { dialogue } = opening(softwareKey(), 'yes');
    const { status, screen } = await person.at(enroll('bob-phone'), dialogue);
    expect(status).toBe(3);
    expect(screen).toContain('NOT pinned');
    expect(pins()).toHaveLength(1);
  });

  it.each([
    [['approvers', 'enroll', 'bob', '--origin', pageOrigin], /--display/],
    [['approvers', 'enroll', 'bob', '--display', 'outside'], /--origin/],
    [['approvers', 'enroll', 'B o b', '--display', 'outside', '--origin', pageOrigin], /approver’s name/],
  ])('is asked for properly: %j', async (words, message) => {
    const { status, stderr } = await bench.run(words);
    expect(status).toBe(1);
    expect(stderr).toMatch(message);
  });
});

describe.runIf(process.getuid?.() === 0)('root, for a service that runs as another user', () => {
  const nobody = 65_534;

  it('enrols without a voucher and leaves nothing that the service cannot read; revoking needs no passphrase', async () => {
    for (const folder of [bench.folder, dirname(bench.state)]) chmodSync(folder, 0o755);
    mkdirSync(join(bench.state, 'enrolments'), { recursive: true });
    for (const file of ['', ...readdirSync(bench.state)]) chownSync(join(bench.state, file), nobody, nobody);
    const key = softwareKey();
    const { dialogue, shown } = opening(key, 'yes');
    const { status } = await person.at(enroll('carol-phone'), dialogue);
    expect({ status, shown: await shown() }).toMatchObject({ status: 0, shown: { ok: true, fingerprint: key.fingerprint } });
    expect(pins().map(({ name }) => name)).toEqual(['alice-phone', 'carol-phone']);
    expect((await person.at(['approvers', 'revoke', 'alice-phone'])).status).toBe(0);
    expect(pins().map(({ name }) => name)).toEqual(['carol-phone']);
  });
});
