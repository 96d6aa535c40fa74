/** What programs of the agents' account try against the page, and pages of theirs in the approver's own browser. */
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isJsonObject } from '#kernel/json';
import { type Device, openPageWorld, type PageWorld, settle } from './page-world.ts';
import { ask, type RawAnswer } from './raw-http.ts';

let world: PageWorld;
let alice: Device;
let origin: string;
beforeAll(async () => {
  world = await openPageWorld();
  alice = await world.enrolled('alice-phone');
  ({ origin } = world.page);
});
afterAll(() => world.close());

const statusOf = async (id: string) => (await world.app.approvals.get(id))?.status;
const withdraw = (id: string) => world.app.approvals.cancel(id, 'user:test');
const token = () => alice.tab.evaluate(() => sessionStorage.getItem('session') ?? '');

/** As a program that stole the session of alice's tab. */
async function asAlice(name: string, body: object): Promise<RawAnswer & { readonly said: { readonly [key: string]: unknown } }> {
  const answer = await ask(origin, { path: `/api/${name}`, headers: { 'x-banksman-session': await token() }, body: JSON.stringify(body) });
  const said: unknown = JSON.parse(answer.body);
  return { ...answer, said: isJsonObject(said) ? said : {} };
}

/** What alice's browser would send as her answer; it is not sent. */
async function caughtAnswer(id: string): Promise<string> {
  const caught = Promise.withResolvers<string>();
  await alice.open(`/r/${id}`);
  await settle(alice.tab);
  await alice.tab.route('**/api/finish', async (route) => {
    caught.resolve(route.request().postData() ?? '');
    await route.abort();
  });
  await alice.tab.getByRole('button', { name: 'Approve once' }).click();
  const body = await caught.promise;
  await alice.tab.unroute('**/api/finish');
  return body;
}

async function shownDigest(id: string): Promise<string> {
  return (await world.app.approvals.get(id))?.digest ?? '';
}

describe('an answer that was caught', () => {
  it('is good once: a replay approves nothing', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    const body = JSON.parse(await caughtAnswer(id)) as object;
    expect((await asAlice('finish', body)).said).toMatchObject({ ok: true, code: 'approved' });
    expect((await asAlice('finish', body)).said).toMatchObject({ code: 'challenge_over' });
    await world.app.approvals.revoke(id, 'user:test');
    expect(await statusOf(id)).toBe('revoked');
    expect((await asAlice('finish', body)).status).toBe(403);
    expect(await statusOf(id)).toBe('revoked');
  });

  it('is nothing for who has no session of the browser that asked', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    const body = await caughtAnswer(id);
    const bob = await world.enrolled('bob-laptop');
    const stolen = await bob.tab.evaluate(() => sessionStorage.getItem('session') ?? '');
    for (const headers of [{}, { 'x-banksman-session': stolen }]) {
      expect((await ask(origin, { path: '/api/finish', headers, body })).status).toBeGreaterThanOrEqual(401);
    }
    expect(await statusOf(id)).toBe('pending');
    await withdraw(id);
    await bob.context.close();
  });

  it.each([
    ['its signature', 'signature'],
    ['what the authenticator said', 'authenticatorData'],
    ['the credential', 'rawId'],
  ])('with %s changed approves nothing', async (_what, part) => {
    const id = await world.ask('stop_container', { vmid: 200 });
    const body = JSON.parse(await caughtAnswer(id)) as { assertion: { id: string; response: Record<string, string> } };
    const flip = (text: string) => `${text.slice(0, -6)}${text.slice(-6) === 'AAAAAA' ? 'BBBBBB' : 'AAAAAA'}`;
    const { assertion } = body;
    const changed =
      part === 'rawId'
        ? { ...assertion, id: flip(assertion.id), rawId: flip(assertion.id) }
        : { ...assertion, response: { ...assertion.response, [part]: flip(assertion.response[part] ?? '') } };
    expect((await asAlice('finish', { assertion: changed })).said).toMatchObject({ ok: false });
    expect(await statusOf(id)).toBe('pending');
    await withdraw(id);
  });
});

describe('a challenge', () => {
  it.each([
    ['of another card', async () => '0'.repeat(64)],
    ['of a card of another request', async () => shownDigest(await world.ask('start_vm', { vmid: 101 }))],
    ['of no card', async () => ''],
  ])('%s is not given', async (_what, digestOf) => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open('/');
    expect((await asAlice('begin', { request: id, digest: await digestOf(), typed: '' })).said).toMatchObject({
      ok: false,
      code: 'tampered',
    });
    await withdraw(id);
  });

  it('is not given for what is over, nor for what never was', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    const digest = await shownDigest(id);
    await withdraw(id);
    await alice.open('/');
    expect((await asAlice('begin', { request: id, digest, typed: '' })).said).toMatchObject({ ok: false });
    expect((await asAlice('begin', { request: 'req-ffffffff', digest, typed: '' })).said).toMatchObject({ ok: false, code: 'not_found' });
    expect((await asAlice('begin', { request: '../x', digest, typed: '' })).status).toBe(400);
  });

  it('is not answered by a finger that is not the right one', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.key.verifies(false);
    await alice.open(`/r/${id}`);
    await settle(alice.tab);
    await alice.tab.getByRole('button', { name: 'Approve once' }).click();
    await alice.tab.locator('#result').waitFor();
    await alice.key.verifies(true);
    expect(await alice.tab.locator('#result').textContent()).toContain('Nothing was sent');
    expect(await statusOf(id)).toBe('pending');
    await withdraw(id);
  });

  it('is not answered by a passkey that was not asked to verify who holds it', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.key.verifies(false);
    await alice.tab.route('**/api/begin', async (route) => {
      const response = await route.fetch();
      const begun = (await response.json()) as { options: object };
      await route.fulfill({ response, json: { ...begun, options: { ...begun.options, userVerification: 'discouraged' } } });
    });
    await alice.open(`/r/${id}`);
    await settle(alice.tab);
    await alice.tab.getByRole('button', { name: 'Approve once' }).click();
    await alice.tab.locator('#result').waitFor();
    await alice.tab.unroute('**/api/begin');
    await alice.key.verifies(true);
    expect(await alice.tab.locator('#result').getAttribute('class')).toContain('bad');
    expect(await statusOf(id)).toBe('pending');
    await withdraw(id);
  });
});

describe('a page of theirs, in the browser of the approver', () => {
  async function theirPage(markup: string): Promise<{ readonly url: string; close(): Promise<void> }> {
    const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(markup));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return { url: `http://localhost:${port}/`, close: () => new Promise((resolve) => void server.close(() => resolve())) };
  }

  it('on another port gets an answer for `localhost`, which counts for nothing here', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    await alice.open('/');
    const { said } = await asAlice('begin', { request: id, digest: await shownDigest(id), typed: '' });
    const theirs = await theirPage('<h1>innocent</h1>');
    // The same tab: its authenticator is the one with alice's passkey.
    const stolen = await token();
    await alice.tab.goto(theirs.url);
    const assertion = await alice.tab.evaluate(
      async (options: Record<string, unknown>) => {
        const credential = await (
          navigator as unknown as { credentials: { get(options: object): Promise<{ toJSON(): object }> } }
        ).credentials.get({
          publicKey: (
            globalThis as unknown as { PublicKeyCredential: { parseRequestOptionsFromJSON(options: object): object } }
          ).PublicKeyCredential.parseRequestOptionsFromJSON(options),
        });
        return credential.toJSON();
      },
      said['options'] as Record<string, unknown>,
    );
    const finish = await ask(origin, {
      path: '/api/finish',
      headers: { 'x-banksman-session': stolen },
      body: JSON.stringify({ assertion }),
    });
    expect(JSON.parse(finish.body)).toMatchObject({ ok: false, code: 'bad_assertion' });
    expect(await statusOf(id)).toBe('pending');
    await withdraw(id);
    await theirs.close();
  });

  it('cannot hold this one in a frame, read it, nor send it anything', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    const theirs = await theirPage(`<iframe src="${origin}/r/${id}"></iframe>`);
    await alice.tab.goto(theirs.url);
    const frame = alice.tab.frames().find((entry) => entry !== alice.tab.mainFrame());
    expect(await frame?.locator('header, main').count()).toBe(0);
    const tried = await alice.tab.evaluate(async (page) => {
      const attempt = (path: string, init: object) =>
        fetch(page + path, init).then(
          (answer) => answer.type + String(answer.status),
          () => 'refused',
        );
      return [
        await attempt('/', {}),
        await attempt('/page.js', {}),
        await attempt('/api/nonce', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }),
        await attempt('/api/deny', { method: 'POST', mode: 'no-cors', body: '{}' }),
      ];
    }, origin);
    expect(tried.slice(0, 3)).toEqual(['refused', 'refused', 'refused']);
    expect(await statusOf(id)).toBe('pending');
    await withdraw(id);
    await theirs.close();
  });
});

describe('another browser', () => {
  it('that somebody carried the passkey into, and not the key of its own, sees and approves nothing', async () => {
    const id = await world.ask('stop_container', { vmid: 200 });
    const other = await world.device();
    await other.key.add(await alice.key.all());
    await other.open(`/r/${id}`);
    expect(await other.tab.locator('main').innerText()).toContain('This browser is not enrolled');
    expect(await other.tab.locator('main').innerText()).not.toContain('200');
    await withdraw(id);
    await other.context.close();
  });
});

it('a guest with a hostile name runs nothing and hides nothing', async () => {
  const id = await world.ask('stop_container', { vmid: 200 }, '<img src=x onerror=document.title=1>\u2800\u2800');
  const faults: string[] = [];
  alice.tab.on('pageerror', (error) => faults.push(error.message));
  await alice.open('/');
  await alice.tab.getByRole('link', { name: /container 200/ }).click();
  await alice.tab.locator('article').waitFor();
  expect(await alice.tab.locator('img').count()).toBe(0);
  expect(await alice.tab.title()).toContain('Stop container 200');
  expect(await alice.tab.locator('.target').innerText()).toMatch(/Container\s+200\s+Node/);
  expect(faults).toEqual([]);
  await withdraw(id);
});
