/** A person with a passkey at the page, in a real Chromium. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Device, openPageWorld, type PageWorld, settle } from './page-world.ts';

let world: PageWorld;
let alice: Device;
beforeAll(async () => {
  world = await openPageWorld();
  alice = await world.enrolled('alice-phone');
});
afterAll(() => world.close());

const statusOf = async (id: string) => (await world.app.approvals.get(id))?.status;
const result = ({ tab }: Device) => tab.locator('#result');

async function approve(device: Device, id: string): Promise<string> {
  await device.open(`/r/${id}`);
  await settle(device.tab);
  await device.tab.getByRole('button', { name: 'Approve once' }).click();
  await result(device).waitFor();
  return (await result(device).textContent()) ?? '';
}

describe('enrolment', () => {
  it('shows on both sides the same fingerprint, and counts only after the other side said yes', async () => {
    const device = await world.device();
    const invitation = await world.invite('bob-phone');
    await device.tab.goto(invitation.url);
    expect(device.tab.url()).toBe(`${world.page.origin}/enrol`);
    await device.tab.getByRole('button', { name: 'Make the passkey' }).click();
    const fingerprint = await device.tab.locator('.fingerprint').innerText();
    const desk = world.app.passkeyDesk(world.page.origin);
    expect((await desk.approvers()).map(({ name }) => name)).not.toContain('bob-phone');
    await invitation.confirm();
    await device.tab.getByRole('heading', { name: 'This browser' }).waitFor();
    expect((await desk.approvers()).find(({ name }) => name === 'bob-phone')?.fingerprint).toBe(fingerprint);
    await world.revoke('bob-phone');
    await device.context.close();
  });

  it('is by a link that is good once', async () => {
    const [first, second] = [await world.device(), await world.device()];
    const { url } = await world.invite('carol-phone');
    // Open in both before either uses it.
    for (const { tab } of [second, first]) {
      await tab.goto(url);
      await tab.getByRole('button', { name: 'Make the passkey' }).waitFor();
    }
    await first.tab.getByRole('button', { name: 'Make the passkey' }).click();
    await first.tab.locator('.fingerprint').waitFor();
    await second.tab.getByRole('button', { name: 'Make the passkey' }).click();
    await result(second).waitFor();
    expect(await result(second).textContent()).toContain('has been used');
    const third = await world.device();
    await third.open(new URL(url).pathname + new URL(url).hash);
    expect(await third.tab.locator('main').innerText()).toContain('This link does not work');
    for (const { context } of [first, second, third]) await context.close();
  });
});

describe('an answer', () => {
  it('approves one run of exactly this call', async () => {
    const id = await world.ask('stop_vm', { vmid: 100 });
    await alice.open('/');
    await alice.tab.getByRole('link', { name: /Stop VM 100/ }).click();
    await alice.tab.getByRole('heading', { name: 'Stop VM 100 (web) on pve?' }).waitFor();
    expect(await alice.tab.locator('.target').innerText()).toMatch(/VM\s+100\s+Node\s+pve/);
    await settle(alice.tab);
    await alice.tab.getByRole('button', { name: 'Approve once' }).click();
    await result(alice).waitFor();
    expect(await result(alice).textContent()).toContain('Approved once: Stop VM 100 (web) on pve');
    expect(await alice.tab.locator(':focus').getAttribute('id')).toBe('result');
    const record = await world.app.approvals.get(id);
    expect(record).toMatchObject({ status: 'approved', decision: { by: 'user:alice-phone', via: 'page' } });
    expect((await world.call('stop_vm', { vmid: 100 })).status).toBe('ok');
    expect(await statusOf(id)).toBe('consumed');
    await alice.tab.locator('.state', { hasText: 'Approved by alice-phone and used' }).waitFor();
  });

  it('is given in German where the browser prefers that, to the same digest', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open(`/r/${id}`);
    const digest = await alice.tab.locator('article').getAttribute('data-digest');
    const inEnglish = await alice.tab.locator('article pre').textContent();
    const anna = await world.enrolled('anna-phone', { locale: 'de-AT' });
    const article = anna.tab.locator('article');
    await anna.open(`/r/${id}`);
    expect(await anna.tab.locator('html').getAttribute('lang')).toBe('de');
    expect(await article.getAttribute('data-digest')).toBe(digest);
    expect(await article.locator('pre').textContent()).toBe(inEnglish);
    expect(await anna.tab.locator('body').innerText()).not.toMatch(/\b(?:the|your|what|is|waits|approve)\b/i);
    await settle(anna.tab);
    await anna.tab.getByRole('button', { name: 'Einmal genehmigen' }).click();
    await result(anna).waitFor();
    expect(await result(anna).textContent()).toContain('Einmal genehmigt: Stoppen: Container 200');
    const record = await world.app.approvals.get(id);
    expect(record).toMatchObject({ status: 'approved', digest, grants: [{ payload: { digest } }] });
    await world.app.approvals.revoke(id, 'user:test');
    await anna.tab.locator('.state', { hasText: 'Zurückgenommen von test' }).waitFor();
    await world.revoke('anna-phone');
    await anna.context.close();
  });

  it('denies with words for the agent', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open(`/r/${id}`);
    await alice.tab.getByRole('button', { name: 'Deny…' }).click();
    await alice.tab.getByLabel('Words for the agent').fill('not before <b>night</b>');
    await alice.tab.getByRole('dialog').getByRole('button', { name: 'Deny', exact: true }).click();
    await result(alice).waitFor();
    const record = await world.app.approvals.get(id);
    expect(record).toMatchObject({ status: 'denied', decision: { by: 'user:alice', message: 'not before <b>night</b>' } });
    await alice.tab.getByText('not before <b>night</b>').waitFor();
  });

  it('is not given by who closes the question', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open(`/r/${id}`);
    await alice.tab.getByRole('button', { name: 'Deny…' }).click();
    await alice.tab.keyboard.press('Escape');
    await alice.tab.getByRole('button', { name: 'Deny…' }).click();
    await alice.tab.getByRole('button', { name: 'Keep waiting' }).click();
    expect(await statusOf(id)).toBe('pending');
    await world.app.approvals.deny(id, 'user:test');
  });

  it('denies all of one agent that stood on the page, and nothing of another nor what came meanwhile', async () => {
    const ids = [await world.ask('start_vm', { vmid: 100 }, 'loud'), await world.ask('stop_container', { vmid: 200 }, 'loud')];
    const other = await world.ask('start_vm', { vmid: 100 }, 'calm');
    await alice.open('/');
    await alice.tab.getByRole('button', { name: 'Deny all 2…' }).click();
    expect(await alice.tab.getByRole('dialog').innerText()).toContain('Deny all 2 requests of cli:loud?');
    const late = await world.ask('stop_container', { vmid: 201 }, 'loud');
    await alice.tab.locator(`#row-${late}`).waitFor();
    await alice.tab.getByRole('dialog').getByRole('button', { name: 'Deny', exact: true }).click();
    await result(alice).waitFor();
    expect(await result(alice).textContent()).toBe('Denied 2 requests.');
    expect(await Promise.all([...ids, other, late].map(statusOf))).toEqual(['denied', 'denied', 'pending', 'pending']);
  });

  it('denies all of all agents, in one question', async () => {
    await alice.open('/');
    await alice.tab.locator('#deny-all').click();
    expect(await alice.tab.getByRole('dialog').innerText()).toContain('Deny all 2 requests?');
    await alice.tab.getByRole('dialog').getByRole('button', { name: 'Deny', exact: true }).click();
    await alice.tab.getByText('Denied 2 requests.').waitFor();
    await alice.tab.getByText('Nothing waits for you.').first().waitFor();
  });

  it('is asked for with a sound, where this browser’s person wants one', async () => {
    const { tab } = alice;
    await alice.open('/me');
    await tab.getByLabel('When something new waits').selectOption('red');
    await alice.open('/');
    await tab.getByRole('heading', { name: 'Waiting for an answer' }).click();
    await tab.evaluate(`
      globalThis.tones = 0;
      globalThis.OscillatorNode = class extends OscillatorNode { constructor(...values) { super(...values); tones += 1; } };`);
    const heard = () => tab.evaluate<number>('tones');
    const loud = await world.ask('stop_container', { vmid: 200 });
    await tab.locator(`#row-${loud}[data-tier="red"]`).waitFor();
    await expect.poll(heard).toBe(2);
    await tab.evaluate(`localStorage.setItem('sound', 'never')`);
    const quiet = await world.ask('stop_container', { vmid: 201 });
    await tab.locator(`#row-${quiet}`).waitFor();
    expect(await heard()).toBe(2);
    for (const id of [loud, quiet]) await world.app.approvals.deny(id, 'user:test');
  });

  it('is given by keyboard alone', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open(`/r/${id}`);
    await settle(alice.tab);
    for (let presses = 0; presses < 20; presses += 1) {
      await alice.tab.keyboard.press('Tab');
      if ((await alice.tab.locator(':focus').getAttribute('id')) === 'approve') break;
    }
    await alice.tab.keyboard.press('Enter');
    await result(alice).waitFor();
    expect(await statusOf(id)).toBe('approved');
    await world.app.approvals.revoke(id, 'user:test');
  });

  it('counts with a clock on the device that is years off', async () => {
    const bob = await world.device();
    await bob.context.addInitScript(() => {
      Date.now = () => 0;
    });
    const invitation = await world.invite('dave-phone');
    await bob.tab.goto(invitation.url);
    await bob.tab.getByRole('button', { name: 'Make the passkey' }).click();
    await invitation.confirm();
    await bob.tab.getByRole('heading', { name: 'This browser' }).waitFor();
    const id = await world.ask('stop_container', { vmid: 200 });
    expect(await approve(bob, id)).toContain('Approved once');
    await world.app.approvals.revoke(id, 'user:test');
    await world.revoke('dave-phone');
    await bob.context.close();
  });
});

describe('while the page is open', () => {
  it('what is asked appears, is said aloud, and goes again', async () => {
    await alice.open('/');
    await alice.tab.getByText('Nothing waits for you.').waitFor();
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.tab.getByRole('link', { name: /Stop container 200/ }).waitFor();
    await alice.tab.locator('#said', { hasText: '1 request waits for an answer.' }).waitFor({ state: 'attached' });
    await world.app.approvals.deny(id, 'user:test');
    await alice.tab.getByText('Nothing waits for you.').first().waitFor();
    expect(await alice.tab.locator('.row').count()).toBe(0);
  });

  it('what is decided elsewhere has no button any more, in every tab', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    const second = await alice.context.newPage();
    await alice.open(`/r/${id}`);
    await second.goto(`${world.page.origin}/r/${id}`);
    await second.getByRole('button', { name: 'Approve once' }).waitFor();
    await world.app.approvals.deny(id, 'user:bob', 'no');
    for (const tab of [alice.tab, second]) {
      await tab.locator('.state', { hasText: 'Denied by bob' }).waitFor();
      expect(await tab.getByRole('button', { name: 'Approve once' }).count()).toBe(0);
    }
    await second.close();
  });

  it('is decided elsewhere with the finger on the key: the prompt goes, and nothing is approved', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open(`/r/${id}`);
    await settle(alice.tab);
    await alice.key.touched(false);
    await alice.tab.getByRole('button', { name: 'Approve once' }).click();
    await alice.tab.locator('#said', { hasText: 'Confirm with your passkey.' }).waitFor({ state: 'attached' });
    await world.app.approvals.deny(id, 'user:bob');
    await result(alice).waitFor();
    await alice.key.touched(true);
    expect(await result(alice).textContent()).toContain('answered elsewhere meanwhile');
    expect(await statusOf(id)).toBe('denied');
  });

  it('a request that expires with the finger on the key is not approved', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open(`/r/${id}`);
    await settle(alice.tab);
    const now = Date.now();
    // The prompt was answered when the hour was over.
    await alice.tab.route('**/api/finish', async (route) => {
      vi.spyOn(Date, 'now').mockReturnValue(now + 3_700_000);
      await route.continue();
    });
    await alice.tab.getByRole('button', { name: 'Approve once' }).click();
    await result(alice).waitFor();
    expect(await result(alice).textContent()).toMatch(/too late|expired/);
    await alice.tab.unroute('**/api/finish');
    vi.restoreAllMocks();
    expect(await statusOf(id)).not.toBe('approved');
  });

  it('the card changed since: what was shown is not what would be signed', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open(`/r/${id}`);
    await settle(alice.tab);
    await alice.tab.locator('article').evaluate((article) => (article.dataset['digest'] = '0'.repeat(64)));
    await alice.tab.getByRole('button', { name: 'Approve once' }).click();
    await result(alice).waitFor();
    expect(await result(alice).textContent()).toContain('changed after it was made');
    expect(await statusOf(id)).toBe('pending');
    await world.app.approvals.deny(id, 'user:test');
  });

  it('a service that is started anew is found again', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open(`/r/${id}`);
    await world.restart();
    await settle(alice.tab);
    expect(await approve(alice, id)).toContain('Approved once');
    await world.app.approvals.revoke(id, 'user:test');
  });

  it('a service that is gone is said, and the page goes on when it is back', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open(`/r/${id}`);
    const { origin } = world.page;
    await world.page.close();
    await alice.tab.getByText('The service does not answer.').waitFor();
    expect(origin).toBe(world.page.origin);
    await world.restart();
    await alice.tab.getByText('The service does not answer.').waitFor({ state: 'hidden' });
    await world.app.approvals.deny(id, 'user:test');
  });

  it('the way back leads to a list that is true', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open('/');
    await alice.tab.getByRole('link', { name: /Stop container 200/ }).click();
    await alice.tab.locator('article').waitFor();
    await world.app.approvals.deny(id, 'user:bob');
    await alice.tab.goBack();
    await alice.tab.getByText('Nothing waits for you.').first().waitFor();
    expect(await alice.tab.locator('.row').count()).toBe(0);
  });

  it('a passkey that is revoked approves nothing and sees nothing', async () => {
    const bob = await world.enrolled('bob-phone');
    const id = await world.ask('stop_container', { vmid: 200 });
    await bob.open(`/r/${id}`);
    await settle(bob.tab);
    await world.revoke('bob-phone');
    await bob.tab.getByRole('button', { name: 'Approve once' }).click();
    await bob.tab.getByRole('heading', { name: 'This browser is not enrolled' }).waitFor();
    expect(await statusOf(id)).toBe('pending');
    await world.app.approvals.deny(id, 'user:test');
    await bob.context.close();
  });
});
