/** Plans and pauses in a real Chromium: struck before approving, paused, let go on with a passkey, stopped; and all agents at once. */
import { join } from 'node:path';
import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Device, openPageWorld, type PageWorld, settle } from './page-world.ts';

const pictures = process.env['BANKSMAN_PICTURES'];

let world: PageWorld;
let alice: Device;
beforeAll(async () => {
  world = await openPageWorld({}, undefined, 'machine');
  alice = await world.enrolled('alice-phone', { width: 360 });
});
afterAll(() => world.close());

const describeIt = (text: string, more = {}) => ({ tool: 'set_guest_config', arguments: { vmid: 100, description: text }, ...more });

const propose = (steps: readonly object[]) => world.ask('propose_plan', { steps });

/** The words below the page's head once something was done. */
async function press(name: string | RegExp): Promise<string> {
  await settle(alice.tab);
  const said = alice.tab.locator('#result');
  await alice.tab.evaluate('document.getElementById("result").hidden = true');
  await alice.tab.getByRole('button', { name }).click();
  await said.waitFor();
  return (await said.textContent()) ?? '';
}

async function looksRight(name: string): Promise<void> {
  await alice.tab.evaluate(axe.source);
  for (const scheme of ['light', 'dark'] as const) {
    await alice.tab.emulateMedia({ colorScheme: scheme });
    const faults = await alice.tab.evaluate<readonly string[]>(
      `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
        .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
    );
    expect(faults).toEqual([]);
    expect(await alice.tab.evaluate<number>('document.scrollingElement.scrollWidth')).toBeLessThanOrEqual(360);
    if (pictures !== undefined) await alice.tab.screenshot({ path: join(pictures, `${name}-360-${scheme}.png`), fullPage: true });
  }
  await alice.tab.emulateMedia({ colorScheme: 'light' });
}

async function approve(id: string): Promise<void> {
  await alice.open(`/r/${id}`);
  expect(await press('Approve once')).toMatch(/approved/i);
}

const stateOf = async (id: string) => (await world.app.plans.get(id))?.standing;

describe('a plan', () => {
  it('loses steps before anybody approves it: what is left is another plan, and the one that is signed', async () => {
    const id = await propose([describeIt('one'), describeIt('two'), { tool: 'start_vm', arguments: { vmid: 101 } }]);
    await alice.open(`/r/${id}`);
    await alice.tab.getByText('Strike steps first').click();
    expect(await press('Strike the chosen steps')).toContain('Choose the steps');
    await alice.tab.getByLabel(/3\. Start VM 101/).check();
    await looksRight('plan-strike');
    await settle(alice.tab);
    await alice.tab.getByRole('button', { name: 'Strike the chosen steps' }).click();
    await alice.tab.waitForURL((url) => url.pathname.startsWith('/r/') && !url.pathname.endsWith(id));
    await alice.tab.locator('article').waitFor();
    const left = new URL(alice.tab.url()).pathname.slice(3);
    expect(await alice.tab.locator('.step').count()).toBe(2);
    expect(await press('Approve once')).toMatch(/approved/i);
    expect(await stateOf(left)).toBe('approved');
    expect(await world.app.plans.get(id)).toMatchObject({ standing: 'over', replacedBy: left });
    await alice.open(`/r/${id}`);
    await alice.tab.getByRole('link', { name: 'the plan that is left' }).waitFor();
  });

  it('keeps steps that others build on, and says which', async () => {
    const id = await propose([
      { tool: 'clone_guest', arguments: { vmid: 101, new_vmid: 300 } },
      { tool: 'start_vm', arguments: { vmid: 300 } },
    ]);
    await alice.open(`/r/${id}`);
    await alice.tab.getByText('Strike steps first').click();
    await alice.tab.getByLabel(/1\. /).check();
    expect(await press('Strike the chosen steps')).toMatch(/^Nothing was struck: step 1: no guest 300/);
    expect(await stateOf(id)).toBe('waiting');
  });

  it('is seen step by step, paused, let go on with the passkey alone, and stopped', async () => {
    const id = await propose([describeIt('one'), describeIt('two', { wait_seconds: 20 }), describeIt('three')]);
    await approve(id);
    await world.call('run_plan', { plan_id: id });
    await alice.open('/');
    await alice.tab.locator(`#row-${id}`, { hasText: '1 of 3 steps done' }).waitFor();
    await alice.tab.locator(`#row-${id}`).click();
    await alice.tab.locator('.progress li', { hasText: 'done Set description' }).waitFor();
    expect(await press('Pause before the next step')).toContain('is paused');
    await alice.tab.getByRole('heading', { name: 'The plan is paused' }).waitFor();
    expect(await stateOf(id)).toBe('paused');
    await looksRight('plan-paused');
    await alice.key.verifies(false);
    expect(await press('Let it go on')).toContain('Nothing was sent');
    expect(await stateOf(id)).toBe('paused');
    await alice.key.verifies(true);
    expect(await press('Let it go on')).toContain('goes on');
    await alice.tab.getByRole('heading', { name: 'The plan is running' }).waitFor();
    expect(await press('Stop the plan')).toContain('is stopped');
    await alice.tab.getByRole('heading', { name: 'The plan is stopped' }).waitFor({ timeout: 60_000 });
    expect(await alice.tab.locator('.progress .chip').allTextContents()).toEqual(['done', 'not run', 'not run']);
    await looksRight('plan-stopped');
  }, 120_000);
});

describe('all agents', () => {
  it('are paused without a passkey, the list says so, and only a passkey lets them work again', async () => {
    await alice.open('/');
    await alice.tab.getByRole('button', { name: 'Pause all agents…' }).click();
    await alice.tab.getByLabel(/^Why/).fill('the array is being rebuilt');
    await alice.tab.getByRole('dialog').getByRole('button', { name: 'Pause all agents' }).click();
    const notice = alice.tab.locator('.notice.warn');
    await notice.waitFor();
    expect(await notice.textContent()).toContain('All agents are paused by user:alice: “the array is being rebuilt”');
    await looksRight('list-paused');
    expect(await world.call('start_vm', { vmid: 101 })).toMatchObject({ status: 'denied', code: 'agents_paused' });
    await notice.getByRole('link', { name: 'resumed' }).click();
    expect(await press('Resume all agents')).toContain('no longer paused');
    expect((await world.app.security.level()).paused).toBeUndefined();
    await alice.open('/settings');
    await alice.tab.getByRole('button', { name: 'Pause all agents…' }).waitFor();
    await alice.open('/');
    expect(await notice.count()).toBe(0);
  });

  it('are paused by nobody who is not known here', async () => {
    const stranger = await world.device();
    await stranger.tab.goto(`${world.page.origin}/`);
    const status = await stranger.tab.evaluate(
      `fetch('/api/pause-all', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }).then((r) => r.status)`,
    );
    expect(status).toBe(401);
    expect((await world.app.security.level()).paused).toBeUndefined();
  });
});
