/** A witness as https://c2sp.org/tlog-witness has it, for one log; and a time stamp server on `openssl ts`. */
import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { verifyConsistency } from '#audit/merkle';

export interface Answer {
  readonly status: number;
  readonly body: string | Uint8Array;
  readonly type?: string;
}

/** On loopback, until the test is over. */
export async function serve(answer: (path: string, body: Buffer) => Answer): Promise<string> {
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    void buffer(request).then((body) => {
      const { status, body: text, type = 'text/plain' } = answer(request.url ?? '', body);
      response.writeHead(status, { 'content-type': type }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export interface TestWitness {
  readonly url: string;
  /** `NAME+ID+KEY`. */
  readonly key: string;
  /** Every status it answered with. */
  readonly answered: readonly number[];
  seen: { size: number; root: string } | undefined;
  /** From now on it signs with another key. */
  lie(): void;
}

export async function startWitness(logKey: string): Promise<TestWitness> {
  const name = 'witness.example/w1';
  let { privateKey } = generateKeyPairSync('ed25519');
  const raw = (key: typeof privateKey) => createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(12);
  const typed = Buffer.concat([Buffer.of(4), raw(privateKey)]);
  const id = createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4);
  const answered: number[] = [];
  const witness: TestWitness = {
    url: '',
    key: `${name}+${id.toString('hex')}+${typed.toString('base64')}`,
    answered,
    seen: undefined,
    lie: () => {
      ({ privateKey } = generateKeyPairSync('ed25519'));
    },
  };
  const add = (body: string): Answer => {
    const asked = parse(body);
    const refusal = refusalOf(asked, logKey, witness.seen ?? { size: 0, root: '' });
    if (refusal !== undefined) return refusal;
    const { size, root, text } = asked;
    witness.seen = { size, root };
    const time = Math.floor(Date.now() / 1000);
    const at = Buffer.alloc(8);
    at.writeBigUInt64BE(BigInt(time));
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${time}\n${text}`), privateKey);
    return { status: 200, body: `— ${name} ${Buffer.concat([id, at, signature]).toString('base64')}\n` };
  };
  const url = await serve((path, body) => {
    const answer = path === '/add-checkpoint' ? add(body.toString('utf8')) : { status: 404, body: 'no such path' };
    answered.push(answer.status);
    return answer;
  });
  return Object.assign(witness, { url });
}

interface Asked {
  readonly old: number;
  readonly path: readonly Buffer[];
  readonly note: string;
  /** The note without its signatures. */
  readonly text: string;
  readonly origin: string;
  readonly size: number;
  readonly root: string;
}

/** The proof, and the note behind the first empty line. */
function parse(body: string): Asked {
  const end = body.indexOf('\n\n');
  const [first = '', ...proof] = body.slice(0, end).split('\n');
  const note = body.slice(end + 2);
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
  const [origin = '', count = '', root = ''] = text.split('\n');
  const old = Number(/^old (\d+)$/.exec(first)?.[1] ?? Number.NaN);
  return { old, path: proof.map((line) => Buffer.from(line, 'base64')), note, text, origin, size: Number(count), root };
}

function refusalOf(
  { old, path, note, text, origin, size, root }: Asked,
  logKey: string,
  seen: { readonly size: number; readonly root: string },
): Answer | undefined {
  if (origin !== logKey.split('+')[0]) return { status: 404, body: 'unknown log' };
  if (!isSigned(note, text, logKey)) return { status: 403, body: 'not signed by the log' };
  if (old > size) return { status: 400, body: 'old is more than the size' };
  if (old !== seen.size || (old === size && seen.root !== root)) return { status: 409, body: `${seen.size}\n`, type: 'text/x.tlog.size' };
  const roots = { fromRoot: Buffer.from(seen.root, 'base64'), root: Buffer.from(root, 'base64') };
  const isProven = old === 0 || verifyConsistency({ from: old, size, path, ...roots });
  return isProven ? undefined : { status: 422, body: 'no proof' };
}

function isSigned(note: string, text: string, logKey: string): boolean {
  const raw = Buffer.from(logKey.split('+').slice(2).join('+'), 'base64').subarray(1);
  const key = createPublicKey({ key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]), format: 'der', type: 'spki' });
  const encoded = note.slice(note.lastIndexOf(' ') + 1).trim();
  return verify(null, Buffer.from(text), key, Buffer.from(encoded, 'base64').subarray(4));
}

/** @param folder where its certificates go: `ca.pem` is what tokens are verified with */
export async function startTimestampServer(folder: string): Promise<string> {
  const run = (...args: readonly string[]) => execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  const file = (name: string, text: string | Uint8Array) => writeFileSync(join(folder, name), text);
  file('tsa.ext', 'extendedKeyUsage=critical,timeStamping\nkeyUsage=digitalSignature\n');
  run(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=Test CA',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  );
  run(
    'req',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-subj',
    '/CN=Test TSA',
    '-keyout',
    'tsa.key',
    '-out',
    'tsa.csr',
  );
  run('x509', '-req', '-in', 'tsa.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-days', '2', '-extfile', 'tsa.ext', '-out', 'tsa.pem');
  file('serial', '01\n');
  const settings = ['default_tsa = t', '[t]', 'serial = serial', 'signer_cert = tsa.pem', 'signer_key = tsa.key', 'certs = ca.pem'];
  file(
    'ts.cnf',
    [
      ...settings,
      'signer_digest = sha256',
      'default_policy = 1.2.3.4.1',
      'digests = sha256',
      'ess_cert_id_chain = no',
      'ess_cert_id_alg = sha256',
      '',
    ].join('\n'),
  );
  return serve((_path, body) => {
    file('request.tsq', body);
    run('ts', '-reply', '-config', 'ts.cnf', '-section', 't', '-queryfile', 'request.tsq', '-out', 'reply.tsr');
    return { status: 200, body: readFileSync(join(folder, 'reply.tsr')), type: 'application/timestamp-reply' };
  });
}
