/** Who gets in: requests as other pages, other names and other programs make them. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPageWorld, type PageWorld } from './page-world.ts';
import { ask, type RawRequest } from './raw-http.ts';

let world: PageWorld;
let origin: string;
beforeAll(async () => {
  world = await openPageWorld();
  ({ origin } = world.page);
});
afterAll(() => world.close());

const look = (path: string, headers: RawRequest['headers'] = {}) => ask(origin, { method: 'GET', path, headers });

describe('what anybody gets', () => {
  it.each(['/', '/me', '/enrol', '/r/req-0123abcd'])(
    '%s holds nothing of anybody, and nothing but its own script and style',
    async (path) => {
      await world.ask('stop_vm', { vmid: 100 });
      const { status, headers, body } = await look(path);
      expect(status).toBe(200);
      const nonce = /script-src 'nonce-([\w-]+)'/.exec(String(headers['content-security-policy']))?.[1] ?? 'none';
      // Chance may write any of them.
      expect(body.replaceAll(nonce, '')).not.toMatch(/stop|100|pve|req-/i);
      expect(body.match(/nonce="([^"]+)"/g)).toEqual([`nonce="${nonce}"`, `nonce="${nonce}"`]);
      expect(body).not.toMatch(/<script(?![^>]*src="\/page\.js")|<style| style=|\son\w+=/i);
      expect((await look(path)).body).not.toContain(nonce);
    },
  );

  it.each(['/', '/page.js', '/page.css', '/icon.svg'])('%s is kept by nobody, framed by nobody, shared with nobody', async (path) => {
    const { headers } = await look(path);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'/);
    expect(headers['set-cookie']).toBeUndefined();
  });

  it('is in the language that the browser prefers, under the same policy', async () => {
    const policyOf = ({ headers }: Awaited<ReturnType<typeof look>>) =>
      String(headers['content-security-policy']).replaceAll(/nonce-[\w-]+/g, '');
    const [english, german] = [await look('/'), await look('/', { 'accept-language': 'de-CH,de;q=0.9,en;q=0.8' })];
    expect(english).toMatchObject({
      headers: { vary: 'Accept-Language', 'content-language': 'en' },
      body: expect.stringContaining('<html lang="en">'),
    });
    expect(german).toMatchObject({
      headers: { vary: 'Accept-Language', 'content-language': 'de' },
      body: expect.stringContaining('<html lang="de">'),
    });
    expect(policyOf(german)).toBe(policyOf(english));
    expect((await look('/page.js', { 'accept-language': 'de' })).body).toContain('"Bestätigen Sie mit Ihrem Passkey."');
  });

  it.each(['/x', '/r/', '/r/req-0123ABCD', '/r/req-0123abcd/', '//evil', '/api/view', '/../etc/passwd', '/%2e%2e/x'])(
    'there is no %s',
    async (path) => {
      expect((await look(path)).status).toBe(404);
    },
  );
});

describe('another name for this server (DNS rebinding)', () => {
  it.each(['evil.example', '127.0.0.1', '[::1]', 'LOCALHOST', 'localhost.', 'localhost', 'a.localhost', ''])(
    'Host `%s` gets nothing',
    async (name) => {
      const { port } = new URL(origin);
      const hosts = name === 'localhost' ? ['localhost:1', 'localhost'] : [`${name}:${port}`, name];
      for (const host of hosts) {
        expect((await ask(origin, { headers: { host } })).status).toBe(421);
        expect((await look('/', { host })).status).toBe(421);
      }
    },
  );

  it('two Host headers get nothing', async () => {
    const { host, port } = new URL(origin);
    const socket = connect(Number(port), '127.0.0.1');
    socket.end(`GET / HTTP/1.1\r\nHost: ${host}\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    expect(text).toMatch(/^HTTP\/1\.1 4\d\d /);
  });
});

describe('another page', () => {
  const others: readonly (readonly [string, RawRequest['headers']])[] = [
    ['another port of localhost', { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' }],
    ['the same host over https', { origin: 'https://localhost', 'sec-fetch-site': 'cross-site' }],
    ['an opaque origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a page that lies about where it is', { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-origin' }],
    ['a program that says no origin', { origin: undefined }],
    ['a browser that does not say what it is for', { 'sec-fetch-site': undefined }],
    ['a form (no JSON)', { 'content-type': 'text/plain' }],
    ['a form of ours', { 'content-type': 'application/x-www-form-urlencoded' }],
  ];
  it.each(others)('%s asks for nothing', async (_who, headers) => {
    for (const path of ['/api/nonce', '/api/session', '/api/view', '/api/begin', '/api/finish', '/api/deny', '/api/enrol']) {
      expect([403, 415]).toContain((await ask(origin, { path, headers })).status);
    }
  });

  it('may link to this one, and not hold it as a part', async () => {
    const from = (mode: string, dest: string) =>
      look('/', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': mode, 'sec-fetch-dest': dest });
    expect((await from('navigate', 'document')).status).toBe(200);
    for (const dest of ['iframe', 'frame', 'embed', 'object']) expect((await from('navigate', dest)).status).toBe(403);
    expect((await from('no-cors', 'script')).status).toBe(403);
  });

  it.each(['PUT', 'DELETE', 'OPTIONS', 'PATCH'])('%s is not answered', async (method) => {
    expect((await ask(origin, { method })).status).toBe(405);
  });
});

describe('a browser that nobody enrolled', () => {
  it.each(['view', 'begin', 'finish', 'deny', 'deny-many', 'changes'])(
    'may not ask for `%s`, with no session, a made-up one or a long one',
    async (name) => {
      for (const token of [undefined, 'x'.repeat(43), 'x'.repeat(5_000), '']) {
        const { status, body } = await ask(origin, { path: `/api/${name}`, headers: { 'x-banksman-session': token } });
        expect(status).toBeGreaterThanOrEqual(401);
        expect(body).not.toContain('stop');
      }
    },
  );

  it('opens no session with a key of its own', async () => {
    const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify']);
    const device = Buffer.from(await crypto.subtle.exportKey('spki', pair.publicKey)).toString('base64url');
    const { nonce } = JSON.parse((await ask(origin)).body) as { nonce: string };
    const text = Buffer.from(`banksman page\n${origin}\n${nonce}`);
    const signature = Buffer.from(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, pair.privateKey, text)).toString(
      'base64url',
    );
    const open = () => ask(origin, { path: '/api/session', body: JSON.stringify({ device, nonce, signature }) });
    expect(JSON.parse((await open()).body)).toMatchObject({ code: 'not_enrolled' });
    expect(JSON.parse((await open()).body)).toMatchObject({ code: 'bad_proof' });
  });

  it('is told that a link does not work', async () => {
    const { body } = await ask(origin, { path: '/api/enrol', body: JSON.stringify({ link: 'A'.repeat(43) }) });
    expect(body).toContain('This link does not work');
  });
});

describe('limits', () => {
  it.each([
    ['too long', `{"x":"${'x'.repeat(70_000)}"}`, 413],
    ['no JSON', 'x', 400],
    ['no object', '[]', 400],
    ['a number for a text', '{"device":1}', 400],
    ['a text that is too long', JSON.stringify({ device: 'x'.repeat(501) }), 400],
  ])('a body that is %s is refused', async (_what, body, status) => {
    expect((await ask(origin, { path: '/api/session', body })).status).toBe(status);
  });

  it('half a message ends with the connection, and the page goes on', async () => {
    const { host, port } = new URL(origin);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `POST /api/nonce HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    );
    await new Promise(setImmediate);
    socket.destroy();
    await once(socket, 'close');
    expect((await look('/page.css')).status).toBe(200);
  });

  it('a client that floods is told to wait', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => look('/icon.svg')));
    expect(answers.map(({ status }) => status)).toContain(429);
  });
});
