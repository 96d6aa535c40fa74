/** What a plan's card foresees: each step's losses on the cluster as it will find it, budgets that it uses up, windows that begin meanwhile. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import type { ProposedStep } from '#kernel/plans/plan';
import { call, startWorld, type World } from '../app/support.ts';
import { byAgent, proposed, step } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld({ pins: 'each' });
});
afterEach(async () => {
  await world.close();
});

const open = (changes = {}) => world.open(changes, undefined, 'test', { stays: true });
const propose = (app: LocalApp, steps: readonly ProposedStep[]) => call(app, 'propose_plan', { steps }, byAgent);

function guest(vmid: number) {
  const found = world.demo.cluster.state.guests.get(vmid);
  if (found === undefined) throw new Error(`no guest ${vmid}`);
  return found;
}

async function cardOf(app: LocalApp, steps: readonly ProposedStep[]) {
  const card = await app.approvals.card(await proposed(app, steps));
  if (card === undefined) throw new Error('no card');
  const { blast: all, unknown } = card.record.action.arguments as {
    readonly blast: readonly string[];
    readonly unknown: readonly string[];
  };
  const blast = all.filter((line) => !line.includes('backup'));
  return { blast, all, unknown, detail: card.detail };
}

describe('what others lose by a plan', () => {
  const one = step('stop_container', { vmid: 200 });
  const other = step('stop_vm', { vmid: 100 });
  beforeEach(() => {
    // 200 answers at .53, 100 at .54; 201 asks either.
    guest(100).config.set('ipconfig0', 'ip=192.168.1.54/24');
    guest(201).config.set('nameserver', '192.168.1.53 192.168.1.54');
  });

  it('is lost on the step that takes the last one, though no step alone takes anything', async () => {
    const app = await open();
    expect((await cardOf(app, [one])).blast).toEqual([]);
    expect((await cardOf(app, [other])).blast).toEqual([]);
    const { blast } = await cardOf(app, [one, other]);
    expect(blast).toEqual(['step 2: it is the only DNS server of container 201 (proxy)']);
  });

  it('is nothing where whoever would lose it is off by then, or has another one by then', async () => {
    const app = await open();
    guest(201).config.set('nameserver', '192.168.1.53');
    expect((await cardOf(app, [one])).blast).toEqual(['step 1: it is the only DNS server of container 201 (proxy)']);
    expect((await cardOf(app, [step('shutdown_container', { vmid: 201 }), one])).blast).toEqual([]);
    guest(201).config.set('nameserver', '192.168.1.53 192.168.1.55');
    guest(101).config.set('ipconfig0', 'ip=192.168.1.55/24');
    expect((await cardOf(app, [step('start_vm', { vmid: 101 }), one])).blast).toEqual([]);
  });

  it('is said again of no step that only repeats it', async () => {
    const app = await open();
    guest(201).config.set('nameserver', '192.168.1.53');
    const steps = [step('stop_container', { vmid: 200 }), step('start_container', { vmid: 200 }), step('stop_container', { vmid: 200 })];
    expect((await cardOf(app, steps)).blast).toEqual(['step 1: it is the only DNS server of container 201 (proxy)']);
  });
});

describe('what is to be known of a step’s guests', () => {
  it('is whether they could be restored, for a step that could lose something', async () => {
    const app = await open();
    world.demo.cluster.state.volumes.splice(0);
    const none = 'no backup of it is seen by this token';
    const { all, detail } = await cardOf(app, [
      step('set_tags', { vmid: 101, tags: ['a'] }),
      step('stop_vm', { vmid: 100 }),
      step('backup_guest', { vmid: 100, storage: 'local' }),
      step('start_vm', { vmid: 100 }),
      step('reset_vm', { vmid: 100 }),
    ]);
    expect(all).toEqual([
      expect.stringMatching(new RegExp(`^step 2: VM 100 \\(web\\).*: ${none}$`)),
      // With the one of step 3, which none of the emulator's own was there before.
      expect.stringMatching(/^step 5: VM 100 \(web\).*: 1 backup, the newest/),
    ]);
    expect(detail).toContain(all[0]);
  });

  it('is what runs on them or on their node, for every step', async () => {
    const app = await open();
    const { tasks } = world.demo.cluster;
    const begin = (type: string, id: string) =>
      tasks.start({ node: guest(100).node, type, id, user: 'root@pam' }, function* () {
        yield 3_600_000;
      });
    begin('vzdump', '');
    begin('qmsnapshot', '100');
    const { all } = await cardOf(app, [step('set_guest_config', { vmid: 100, description: 'x' })]);
    expect(all).toHaveLength(2);
    expect(all.join('\n')).toMatch(/step 1: VM 100 \(web\).*: a task runs on it: qmsnapshot by root@pam/);
    expect(all.join('\n')).toMatch(/step 1: VM 100 \(web\).*: a backup job runs on its node: vzdump by root@pam/);
  });
});

const hourMs = 3_600_000;
const minutes = (at: number) => new Date(at).toISOString().slice(0, 16);

describe('a limit that a plan would meet on its way', () => {
  const describes = ['a', 'b', 'c'].map((description) => step('set_guest_config', { vmid: 100, description }));

  it('refuses it where its budget ends', async () => {
    const app = await open({ scopes: [{ name: 'few', agents: ['mcp:tester'], reason: 'few changes', changesPerDay: 2 }] });
    const refused = await propose(app, describes);
    expect(refused).toMatchObject({ status: 'denied', code: 'over_budget' });
    expect(refused.message).toMatch(
      /^step 3: 2 of 2 changes in 24 hours are made, those of the steps before it among them, and scope `few`/,
    );
    expect(await app.approvals.countPending()).toBe(0);
    expect(await propose(app, describes.slice(0, 2))).toMatchObject({ status: 'pending' });
  });

  const freeze = (start: string, more: object = {}) => ({
    windows: [
      { name: 'release', kind: 'freeze', reason: 'the release is out', zone: 'UTC', times: [{ start, duration: 'PT2H' }], ...more },
    ],
  });

  it('is on its card where a freeze begins within a day, for what the freeze is about', async () => {
    const start = minutes(Date.now() + 3 * hourMs);
    const app = await open(freeze(start, { only: { guests: [100] } }));
    const { unknown, detail } = await cardOf(app, [step('start_vm', { vmid: 101 }), ...describes.slice(0, 1)]);
    const line = unknown.find((text) => text.includes('release')) ?? '';
    expect(line).toContain(`step 2: from ${start} UTC on nothing that changes guest 100 (web) runs until`);
    expect(line).toContain('the reason given: the release is out');
    expect(unknown.filter((text) => text.includes('release'))).toHaveLength(1);
    expect(detail).toContain(line);
    const far = await open(freeze(minutes(Date.now() + 30 * hourMs)));
    expect((await cardOf(far, describes.slice(0, 1))).unknown.join()).not.toContain('release');
  });

  it('is on its card where its maintenance window ends, unless the next one follows at once', async () => {
    const window = (...times: object[]) => ({
      windows: [{ name: 'nights', kind: 'maintenance', reason: 'customers sleep', zone: 'UTC', times }],
    });
    const start = minutes(Date.now() - hourMs);
    const ends = minutes(Date.parse(`${start}:00Z`) + 3 * hourMs);
    const app = await open(window({ start, duration: 'PT3H' }));
    expect((await cardOf(app, describes.slice(0, 1))).unknown.join()).toContain(
      `step 1: from ${ends} UTC on nothing that changes a cluster runs outside of a maintenance window`,
    );
    const whole = await open(window({ start, duration: 'PT3H' }, { start: ends, duration: 'PT48H' }));
    expect((await cardOf(whole, describes.slice(0, 1))).unknown.join()).not.toContain('nights');
  });

  it('refuses it where a step cannot come before the freeze', async () => {
    const app = await open(freeze(minutes(Date.now() + 120_000)));
    const [first, second] = describes;
    const late = { ...second, wait_seconds: 600 } as ProposedStep;
    const refused = await propose(app, [first as ProposedStep, late]);
    expect(refused).toMatchObject({ status: 'denied', code: 'frozen', message: expect.stringMatching(/^step 2: /) });
  });
});
