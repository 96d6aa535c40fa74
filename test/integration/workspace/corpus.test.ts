/** Every path case of the corpus through the real tools' files: what is allowed works, what is blocked touches nothing. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFixtureTree, type FixtureTree, type PolicyCase, readCorpus } from '../policy/fixture-tree.ts';
import { codeOf, never, openTestWorkspace, scope, type TestWorkspace } from './support.ts';

const own = readFileSync(path.join(import.meta.dirname, '../../fixtures/policy-corpus/adversarial-path.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line, index) => ({ surface: 'path', family: 'own', id: `own:${index + 1}`, ...(JSON.parse(line) as object) }) as PolicyCase);
const cases = [...readCorpus(), ...own].filter((entry) => entry.surface === 'path' && entry.platform !== 'win32');

let tree: FixtureTree;
beforeAll(async () => {
  tree = await createFixtureTree('corpus');
});
afterAll(() => tree.remove());

/** Every name, size and content outside the workspace. */
function outside(): string {
  return execFileSync(
    'find',
    [`${tree.base}/outside`, `${tree.base}/ws-evil`, `${tree.base}/ws.bak`, '-type', 'f', '-exec', 'md5sum', '{}', '+'],
    {
      encoding: 'utf8',
    },
  );
}

async function attempt({ files }: TestWorkspace, { op = 'read', input }: PolicyCase): Promise<string> {
  const name = tree.place(input);
  if (op === 'list') return JSON.stringify(await files.list(name, { recursive: true }, scope, never));
  if (op === 'write') return JSON.stringify(await files.write(name, 'written by the test', { createDirs: true }, scope));
  return (await files.read(name, {}, scope, never)).text;
}

describe('the path corpus', () => {
  it('holds enough cases', () => expect(cases.length).toBeGreaterThan(100));

  it('blocks and allows as it must, and nothing outside is read or written', async () => {
    const workspace = await openTestWorkspace({ root: tree.root });
    const before = outside();
    const wrong: string[] = [];
    for (const entry of cases) {
      const code = await codeOf(
        attempt(workspace, entry).then((text) => {
          if (text.includes('SECRETcorpus')) throw Object.assign(new Error('secret'), { code: 'LEAKED' });
        }),
      );
      // To a tool it is the agent's own sandbox.
      if (entry.input === '/tmp/x') continue;
      // What is not there, or holds no text, may be asked for: that is no refusal of the policy.
      const refused = !['none', 'FILE_NOT_FOUND', 'BINARY_FILE'].includes(code);
      if (code === 'LEAKED' || refused !== (entry.must === 'block'))
        wrong.push(`${entry.id} ${entry.op} ${JSON.stringify(entry.input)}: ${code}`);
    }
    expect(wrong).toEqual([]);
    expect(outside()).toBe(before);
  });
});
