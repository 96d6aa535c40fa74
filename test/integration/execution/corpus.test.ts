import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bombsAreCaged } from './support/bomb-cage.ts';
import { canSandbox } from './support/bubblewrap.ts';
import { openWorkbench } from './support/workbench.ts';

interface Case {
  readonly id: string;
  readonly input: string;
  readonly surface: string;
  readonly layer?: string;
  readonly family?: string;
}

const corpus = path.join(import.meta.dirname, '../../fixtures/policy-corpus/attacks.public.jsonl');
const cases = readFileSync(corpus, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Case)
  .filter(({ layer }) => layer === 'effect')
  .filter(({ family }) => bombsAreCaged || family !== 'fork-bomb-resource');

describe.skipIf(!canSandbox)('a command that the policy cannot judge by its text', () => {
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    socket.end();
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => void server.close());

  it('is in the corpus', () => {
    expect(cases.length).toBeGreaterThanOrEqual(5);
  });

  it.each(cases)('$id has no effect outside: $input', async ({ input }) => {
    const tree = { processes: 64, tasks: 128, memoryBytes: 512 * 2 ** 20, diskBytes: 256 * 2 ** 20 };
    const limits = { ...tree, fileBytes: 16 * 2 ** 20, floodBytes: 2 ** 20 };
    const bench = openWorkbench({ limits });
    const outside = path.join(bench.root, 'outside');
    mkdirSync(outside);
    writeFileSync(path.join(outside, 'secret.txt'), 'SECRET');
    const port = (server.address() as net.AddressInfo).port;
    // The literal names of the corpus become the real ones; what it connects to becomes a server that is there.
    const command = input
      .replaceAll('/outside', outside)
      .replaceAll('http://x', `http://127.0.0.1:${port}`)
      .replaceAll('x:80', `127.0.0.1:${port}`)
      .replaceAll("'10.0.0.9',80", `'127.0.0.1',${port}`);
    const result = await bench.run(command, { timeoutMs: 2_000 });
    expect(result.sandbox).toBe('enforced');
    expect(readFileSync(path.join(outside, 'secret.txt'), 'utf8')).toBe('SECRET');
    expect(readdirSync(bench.root).sort()).toEqual(['outside', 'state', 'ws']);
    expect(connections).toBe(0);
    const written = path.join(bench.workspace, 'x');
    expect(existsSync(written) ? statSync(written).size : 0).toBeLessThanOrEqual(limits.fileBytes);
  });
});
