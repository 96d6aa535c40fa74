/** What a run may not do by itself waits for a person: asked for, applied as it was shown, denied, in conflict, forgotten. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createHeldAnswers } from '#app/people/held';
import { describeAction } from '#app/people/run-approved';
import { reviewCard } from '#approval/card';
import type { App } from '#kernel/app';
import type { RequestRecord } from '#kernel/approval/request';
import { applyHeldTool } from '#kernel/effects';
import type { JsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { cacheFolder } from '../../../../scripts/lib/cache-folder.mjs';
import { holdMarked, openBench } from '../../effects/support/effects-bench.ts';
import { canSandbox } from '../../execution/support/bubblewrap.ts';
import { call, startWorld, type World } from '../support.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let world: World;
let root: string;
beforeEach(async () => {
  world = await startWorld();
  mkdirSync(cacheFolder(), { recursive: true });
  root = mkdtempSync(join(cacheFolder(), 'held-'));
});
afterEach(async () => {
  await world.close();
  rmSync(root, { recursive: true, force: true });
});

const at = (name: string) => join(root, name);
const open = () => world.open({}, root);
const plant = 'mkdir -p .vscode src && echo \'{"a": 1}\' > .vscode/tasks.json && echo x > src/plain';

async function hold(app: App, command = plant) {
  const outcome = await call(app, 'run_command', { command });
  return { outcome, id: outcome.request_id ?? '' };
}

function journalOf(): readonly string[] {
  const runs = join(world.stateDir, 'runs');
  const [workspace = ''] = existsSync(runs) ? readdirSync(runs) : [];
  return workspace === '' ? [] : readdirSync(join(runs, workspace)).filter((name) => name.endsWith('-held'));
}

async function ends(app: App, id: string, status: string): Promise<void> {
  await vi.waitFor(async () => expect((await app.approvals.get(id))?.status).toBe(status), { interval: 200 });
}

async function statusOf(app: App, id: string) {
  return call(app, 'check_request_status', { request_id: id });
}

describe.skipIf(!canSandbox)('held changes', () => {
  it('the rest is applied, and the answer says what waits, for whom and what else can be done', async () => {
    const app = await open();
    const { outcome, id } = await hold(app);
    expect(outcome).toMatchObject({
      status: 'ok',
      result: { held: { status: 'pending', request_id: id }, changes: { created: ['src/'] } },
    });
    expect(outcome.message).toMatch(
      /1 created; not applied: `\.vscode\/` \(an editor runs or obeys it\); all else is applied; a person is asked .* req-/,
    );
    expect(outcome.next).toMatch(/check_request_status with request_id req-.*or do it in another way that does not touch `\.vscode\/`/);
    expect([existsSync(at('src/plain')), existsSync(at('.vscode'))]).toEqual([true, false]);
    const record = await app.approvals.get(id);
    expect(record).toMatchObject({ tier: 'red', impact: 'reversible', action: { tool: 'apply_held' } });
    const card = await app.approvals.card(id);
    expect(card).toMatchObject({ tampered: false });
    expect(card?.title).toBe('Apply 2 held changes: .vscode/, .vscode/tasks.json?');
    expect(card?.detail).toContain(
      'create .vscode/\n  held: an editor runs or obeys it\ncreate .vscode/tasks.json\n  @@ -0,0 +1 @@\n  +{"a": 1}',
    );
    expect(await statusOf(app, id)).toMatchObject({
      message: expect.stringContaining('pending'),
      next: expect.stringContaining('do not run the command again'),
    });
  });

  it('approved, exactly these are applied, and can be undone', async () => {
    const app = await open();
    const { id } = await hold(app);
    expect((await app.approvals.approve(id, world.person)).ok).toBe(true);
    await ends(app, id, 'consumed');
    await vi.waitFor(() => expect(readFileSync(at('.vscode/tasks.json'), 'utf8')).toBe('{"a": 1}\n'));
    const told = await vi.waitFor(
      async () => {
        const status = await statusOf(app, id);
        expect(status.message).toContain('the held changes were applied');
        return status;
      },
      { interval: 200 },
    );
    expect(told.result).toMatchObject({ status: 'consumed', outcome: { status: 'ok' } });
    const history = await app.runs();
    const [run] = (await history?.list()) ?? [];
    expect(run?.created).toEqual(['.vscode/']);
    await history?.undo(run?.id ?? '', { force: false });
    expect([existsSync(at('.vscode')), existsSync(at('src/plain'))]).toEqual([false, true]);
    expect(journalOf()).toEqual([run?.id]);
  });

  it('a person at the door is answered at once, and the call says so', async () => {
    const app = await open();
    const gate = { ask: (request: { readonly id: string }) => void app.approvals.approve(request.id, world.person) };
    const outcome = await call(app, 'run_command', { command: plant }, { waitMs: 60_000, gate });
    expect(outcome).toMatchObject({ status: 'ok', message: expect.stringContaining('the held changes were applied') });
    expect(existsSync(at('.vscode/tasks.json'))).toBe(true);
  });

  it('by a person’s hand, it is applied once, whoever looks at the answer meanwhile', async () => {
    const [app, other] = [await open(), await open()];
    const { id } = await hold(app);
    await other.approvals.approve(id, world.person);
    const outcome = await other.runApproved(id, { by: 'user:alice', signal: new AbortController().signal });
    // Who follows the answers leaves a person 1.5 s; on a slow machine that may be over.
    expect(outcome.message).toMatch(/^the held changes were applied$|has been used by another call: /);
    await vi.waitFor(() => expect(existsSync(at('.vscode/tasks.json'))).toBe(true));
    expect((await other.audit.tail(50)).filter(({ name }) => name === 'approval.consumed')).toHaveLength(1);
  });

  it('approved while no process has the workspace open, it waits for the next one', async () => {
    const app = await open();
    const { id } = await hold(app);
    await app.close();
    const elsewhere = await world.open();
    const record = await elsewhere.approvals.get(id);
    expect(record && (await elsewhere.whyNotHere(record))).toMatch(/belongs to the workspace .* which is not open here/);
    expect((await elsewhere.approvals.approve(id, world.person)).ok).toBe(true);
    expect(existsSync(at('.vscode'))).toBe(false);
    await open();
    await ends(elsewhere, id, 'consumed');
    await vi.waitFor(() => expect(existsSync(at('.vscode/tasks.json'))).toBe(true));
  });

  it('denied, they are dropped', async () => {
    const app = await open();
    const { id } = await hold(app);
    expect(journalOf()).toHaveLength(1);
    await app.approvals.deny(id, 'user:alice', 'not in this repository');
    await vi.waitFor(() => expect(journalOf()).toEqual([]), { interval: 200 });
    expect(existsSync(at('.vscode'))).toBe(false);
    expect(await statusOf(app, id)).toMatchObject({
      next: expect.stringContaining('dropped'),
      result: { message: expect.any(String), status: 'denied' },
    });
  });

  it('a place that changed meanwhile: nothing is applied, and everybody is told', async () => {
    const app = await open();
    writeFileSync(at('.envrc'), 'old\n');
    const { id } = await hold(app, 'echo new > .envrc; mkdir .vscode; echo x > free');
    writeFileSync(at('.envrc'), 'theirs\n');
    await app.approvals.approve(id, world.person);
    const outcome = await app.runApproved(id, { by: 'user:alice', signal: new AbortController().signal });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'held_conflict',
      message: expect.stringContaining('`.envrc` changed after it was held'),
    });
    expect([readFileSync(at('.envrc'), 'utf8'), existsSync(at('.vscode'))]).toEqual(['theirs\n', false]);
    expect(await statusOf(app, id)).toMatchObject({ message: expect.stringContaining('held_conflict') });
    expect(journalOf()).toEqual([]);
  });

  it('held bytes that are not what was approved are never applied', async () => {
    const app = await open();
    const { id } = await hold(app);
    const [held = ''] = journalOf();
    const runs = join(world.stateDir, 'runs');
    writeFileSync(join(runs, readdirSync(runs)[0] ?? '', held, 'stage', '0', 'tasks.json'), '{"a": 2}\n');
    await app.approvals.approve(id, world.person);
    const outcome = await app.runApproved(id, { by: 'user:alice', signal: new AbortController().signal });
    expect(outcome).toMatchObject({ status: 'denied', code: 'held_conflict', message: expect.stringContaining('dropped') });
    expect(existsSync(at('.vscode'))).toBe(false);
    expect(journalOf()).toEqual([]);
    expect(await app.approvals.get(id)).toMatchObject({ status: 'cancelled' });
    expect(await statusOf(app, id)).toMatchObject({ next: expect.stringContaining('dropped') });
  });

  it('a stored card with another difference is not approved', async () => {
    const app = await open();
    const { id } = await hold(app);
    const record = await app.approvals.get(id);
    const targets = structuredClone(record?.action.targets ?? []) as { changes: { diff?: string[] }[] }[];
    targets[0]?.changes.forEach((change) => {
      change.diff = ['+harmless'];
    });
    const forged = record && { ...record, action: { ...record.action, targets: targets as unknown as readonly JsonObject[] } };
    expect(forged && reviewCard(forged, { now: Date.now(), via: 'editor', describe: describeAction }).tampered).toBe(true);
  });

  it('no caller can name the tool, list it or explain it', async () => {
    const app = await open();
    expect(app.tools.map(({ name }) => name)).not.toContain('apply_held');
    expect(await call(app, 'apply_held', { held: 'x-00000000-held' })).toMatchObject({ status: 'error', code: 'unknown_tool' });
    const explained = await app.explain({
      tool: 'apply_held',
      input: { held: 'x' },
      agent: { id: 'mcp:x', host: 'mcp', modelTier: 'advanced' },
    });
    expect(explained.decision).toMatchObject({ code: 'unknown_tool' });
  });

  it('the same once more asks nobody anew', async () => {
    const app = await open();
    const first = await hold(app, 'mkdir .vscode && echo x > .vscode/x');
    const second = await hold(app, 'mkdir .vscode && echo x > .vscode/x');
    expect(second.id).toBe(first.id);
    expect(journalOf()).toHaveLength(1);
    const third = await hold(app, 'mkdir .vscode && echo y > .vscode/x');
    expect(third.id).not.toBe(first.id);
  });
});

describe('what is held, by the standing of its request', () => {
  const now = 1_800_000_000_000;
  /** A real journal with one thing held; the store answers with the one record. */
  async function standing(record: Partial<RequestRecord>, outcome?: Outcome) {
    const { effects, run } = openBench({ root, judge: holdMarked });
    const { heldId = '' } = await run('echo x > held');
    const full = {
      id: 'req-00000001',
      ...record,
      action: { tool: applyHeldTool, arguments: { held: heldId } },
    } as unknown as RequestRecord;
    const [ran, cancelled, looks]: [string[], string[], string[]] = [[], [], []];
    const answers = createHeldAnswers({
      history: async () => effects,
      requests: {
        list: async ({ search = '' }) => {
          looks.push(search);
          return { records: [full] };
        },
        waitOf: async () => undefined,
        onChange: () => () => undefined,
        cancel: async (id) => {
          cancelled.push(id);
          return { ok: true, record: { ...full, status: 'cancelled' } };
        },
      },
      run: async ({ id }) => {
        ran.push(id);
        return outcome ?? { status: 'ok', code: 'ok', message: 'done' };
      },
      clock: { now: () => now, sleep: async () => undefined },
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    return { answers, full, ran, cancelled, looks, heldIds: () => effects.heldIds() };
  }

  it.each<[string, Partial<RequestRecord>, number]>([
    ['pending: it waits', { status: 'pending' }, 1],
    ['consumed a moment ago: whoever consumed the grant is at it', { status: 'consumed', consumedAt: now - 60_000 }, 1],
    ['consumed by a process that was killed: it is dropped', { status: 'consumed', consumedAt: now - 130_000 }, 0],
    ['expired: it is dropped', { status: 'expired' }, 0],
    ['revoked: it is dropped', { status: 'revoked' }, 0],
  ])('%s', async (_name, record, left) => {
    const { answers, ran, looks, heldIds } = await standing(record);
    answers.follow();
    await vi.waitFor(() => expect(looks).toHaveLength(1), { interval: 100 });
    await answers.close();
    expect(await heldIds()).toHaveLength(left);
    expect(ran).toEqual([]);
  });

  it('approved, and other bytes than approved lie there: it ends at once, and is not tried again', async () => {
    const changed: Outcome = { status: 'denied', code: 'target_changed', message: 'changed' };
    const { answers, full, ran, cancelled, heldIds } = await standing({ status: 'approved' }, changed);
    answers.follow();
    await vi.waitFor(() => expect(cancelled).toEqual([full.id]), { interval: 100 });
    await answers.close();
    expect(await heldIds()).toEqual([]);
    expect(ran).toEqual([full.id]);
  });
});
