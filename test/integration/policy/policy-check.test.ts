/** `policy check` as a stream: JSON Lines in, JSON Lines out. */
import { homedir } from 'node:os';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runPolicyCheck } from '../../../src/hosts/cli/commands/policy.ts';
import { createFixtureTree, type FixtureTree, readCorpus } from './fixture-tree.ts';

let tree: FixtureTree;
beforeAll(async () => {
  tree = await createFixtureTree();
});
afterAll(() => tree.remove());

async function check(lines: readonly string[], root = tree.root) {
  const output = new PassThrough();
  const faults: string[] = [];
  const printed = text(output);
  const status = await runPolicyCheck({
    root,
    input: Readable.from([lines.join('\n')]),
    output,
    onFault: (message) => faults.push(message),
  });
  output.end();
  const answers = (await printed).split('\n').filter((line) => line !== '');
  return { status, faults, answers: answers.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('policy check', () => {
  it('answers each line in order, with decision, code, reason and rules', async () => {
    const { status, answers } = await check([
      '{"id":"1","surface":"ssh","input":"uptime","why":"ignored"}',
      '',
      '{"id":"2","surface":"ssh","input":"uptime; reboot"}',
      '{"id":"3","surface":"readonly_bash","input":"rm -rf ."}',
      '{"id":"4","surface":"workspace_command","input":"banksman approvals approve 1"}',
      '{"id":"5","surface":"path","input":".env","op":"read"}',
      '{"id":"6","surface":"path","input":"file.txt:stream","op":"read","platform":"win32"}',
      '{"id":"7","surface":"path","input":"src","op":"list"}',
    ]);
    expect(status).toBe(0);
    expect(answers).toMatchObject([
      { id: '1', decision: 'allow', code: 'allowed', rules: ['ssh.uptime'] },
      { id: '2', decision: 'deny', code: 'COMMAND_BLOCKED', reason: expect.stringContaining('character 9') },
      { id: '3', decision: 'allow', rules: ['effects.judged'] },
      { id: '4', decision: 'deny', code: 'COMMAND_BLOCKED', rules: ['workspace.own-command'] },
      { id: '5', decision: 'ask', code: 'SECRET_FILE' },
      { id: '6', decision: 'deny', code: 'PATH_INVALID' },
      { id: '7', decision: 'allow' },
    ]);
    for (const answer of answers) expect(Object.keys(answer)).toEqual(['id', 'decision', 'code', 'reason', 'rules']);
  });

  it.each(['/', '//', homedir(), `${homedir()}/`])('%s is no workspace: what needs one is refused, ssh is judged', async (root) => {
    const { status, answers } = await check(
      [
        '{"id":"1","surface":"ssh","input":"uptime"}',
        '{"id":"2","surface":"workspace_command","input":"ls"}',
        '{"id":"3","surface":"path","input":"a","op":"read"}',
      ],
      root,
    );
    expect(status).toBe(0);
    const refused = { decision: 'deny', code: 'workspace_too_wide', reason: expect.stringContaining('with `--root`') };
    expect(answers).toMatchObject([{ id: '1', decision: 'allow' }, refused, refused]);
  });

  it('tells malformed lines apart, answers the others and ends with 1', async () => {
    const { status, faults, answers } = await check([
      '{',
      '[]',
      '{"id":"1","surface":"sql","input":"x"}',
      '{"id":1,"surface":"ssh","input":"x"}',
      '{"id":"2","surface":"ssh"}',
      '{"id":"3","surface":"ssh","input":"uptime"}',
    ]);
    expect(status).toBe(1);
    expect(answers).toMatchObject([{ id: '3', decision: 'allow' }]);
    expect(faults.map((fault) => fault.slice(0, 7))).toEqual(['line 1:', 'line 2:', 'line 3:', 'line 4:', 'line 5:']);
  });

  it('refuses a root that is none', async () => {
    await expect(check([], `${tree.root}/missing`)).rejects.toMatchObject({ code: 'bad_root' });
    await expect(check([], `${tree.root}/file.txt`)).rejects.toMatchObject({ code: 'bad_root' });
  });

  it('decides the whole public corpus as it says', async () => {
    const cases = readCorpus();
    const { status, answers } = await check(
      cases.map((entry) => JSON.stringify({ ...entry, input: entry.surface === 'ssh' ? entry.input : tree.place(entry.input) })),
    );
    expect(status).toBe(0);
    const decided = cases.map((entry, index): (typeof cases)[number] & Record<string, unknown> => ({ ...entry, ...answers[index] }));
    const byText = decided.filter(({ surface }) => surface === 'ssh' || surface === 'path');
    expect(byText.filter((entry) => (entry['decision'] === 'allow') !== (entry.must === 'allow'))).toEqual([]);
    // What the others do is judged when they have run (effects/corpus.test.ts): nothing ordinary is asked about, what hides something is refused.
    const inWorkspace = decided.filter(({ surface }) => surface === 'readonly_bash' || surface === 'workspace_command');
    expect(inWorkspace.filter((entry) => entry.must === 'allow' && entry['decision'] !== 'allow')).toEqual([]);
    const refused = inWorkspace.filter((entry) => entry['decision'] === 'deny');
    expect(refused.length).toBeGreaterThan(3);
    expect(
      refused.flatMap((entry) => entry['rules']).filter((rule) => !/^workspace\.(?:hidden-character|own-command)$/.test(String(rule))),
    ).toEqual([]);
  });
});
