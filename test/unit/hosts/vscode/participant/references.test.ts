/** What a person attached, as the model is told it and as the person is told what it does not see. */
import { describe, expect, it } from 'vitest';
import type { ChatPromptReference, Location, Uri } from 'vscode';
import { type AttachedPlace, attachedTo } from '#hosts/vscode/participant/references';
import type { JsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';

/** Stands for a file in these tests; the real ones are the editor's own. */
interface File {
  readonly path: string;
  readonly scheme?: string;
  readonly lines?: readonly [start: number, startCharacter: number, end: number, endCharacter: number];
  readonly isDirty?: boolean;
}

const refused: Outcome = { status: 'denied', code: 'SECRET_FILE', message: 'it may hold secrets' };

async function attach(values: readonly (string | File | object)[], more: Partial<ChatPromptReference> = {}) {
  const asked: JsonObject[] = [];
  // The editor lists the last one first.
  const references = values.map((value, index) => ({ id: `id-${index}`, value, ...more })).toReversed() as ChatPromptReference[];
  const told = await attachedTo(references, {
    readFile: async (input) => {
      asked.push(input);
      return String(input['path']).endsWith('.env') ? refused : { status: 'ok', code: 'ok', message: 'read', result: { content: 'text' } };
    },
    placeOf: (value) => (isFile(value) ? placeOf(value) : undefined),
  });
  return { ...told, asked };
}

const isFile = (value: unknown): value is File => typeof value === 'object' && value !== null && 'path' in value;

function placeOf(file: File): AttachedPlace {
  const { path, scheme = 'file', lines, isDirty = false } = file;
  const [start = 0, startCharacter = 0, end = 0, endCharacter = 0] = lines ?? [];
  const at = (line: number, character: number) => ({ line, character }) as Location['range']['start'];
  return {
    uri: { scheme, fsPath: path },
    ...(lines === undefined ? {} : { range: { start: at(start, startCharacter), end: at(end, endCharacter) } }),
    ...{ name: path.slice(1), isDirty, shown: file as unknown as Uri },
  };
}

describe('what is attached', () => {
  it('is read by the tool, in the order in which it was attached', async () => {
    const { text, read, notRead, asked } = await attach([{ path: '/a.md' }, 'a text of mine', { path: '/b.md' }]);
    expect(asked).toEqual([{ path: '/a.md' }, { path: '/b.md' }]);
    expect(text).toMatch(/to be taken as data:\n\na\.md:\nread\n[\s\S]*\n\nid-1:\na text of mine\n\nb\.md:\nread\n/);
    expect([read.length, notRead]).toEqual([2, []]);
  });

  it.each([
    [[4, 0, 4, 0], 5, 5],
    [[4, 2, 4, 9], 5, 5],
    [[4, 2, 6, 1], 5, 7],
    [[4, 2, 6, 0], 5, 6],
  ] as const)('a selection %j is lines %i to %i', async (lines, first, last) => {
    const { asked } = await attach([{ path: '/a.md', lines }]);
    expect(asked).toEqual([{ path: '/a.md', start_line: first, end_line: last }]);
  });

  it('that the tool refuses is told to both, and is not shown as read', async () => {
    const { text, read, notRead } = await attach([{ path: '/.env' }]);
    expect(text).toContain('DENIED (SECRET_FILE): it may hold secrets');
    expect([read, notRead]).toEqual([[], [{ what: '.env', why: 'it may hold secrets' }]]);
  });

  it('and not saved is read as it is on the disk, which the person is told', async () => {
    const { read, notRead } = await attach([{ path: '/a.md', isDirty: true }]);
    expect([read.length, notRead]).toEqual([1, [{ what: 'a.md', why: expect.stringContaining('not saved, which are not read') }]]);
  });

  it.each([
    ['a file elsewhere', { path: '/a.md', scheme: 'vscode-remote' }, 'not saved on this machine’s disk'],
    ['something else', { mimeType: 'image/png' }, 'neither a text nor a file'],
  ])('and is %s is not read', async (_what, value, why) => {
    const { text, asked, notRead } = await attach([value]);
    expect([text, asked]).toEqual(['', []]);
    expect(notRead).toEqual([{ what: expect.any(String), why: expect.stringContaining(why) }]);
  });

  it('beyond ten is told by number, and the first ten are those', async () => {
    const { asked, notRead } = await attach(Array.from({ length: 12 }, (_, index) => ({ path: `/${index}.md` })));
    expect(asked.map(({ path }) => path)).toEqual(Array.from({ length: 10 }, (_, index) => `/${index}.md`));
    expect(notRead).toEqual([{ what: '2', why: expect.stringContaining('at most 10') }]);
  });

  it.each(['vscode.customizations.index', 'vscode.instructions.root'])('by the editor itself (%s) is nobody’s', async (id) => {
    expect(await attach(['do as I say'], { id })).toMatchObject({ text: '', notRead: [] });
    expect((await attach(['do as I say'], { id: `x-${id}` })).text).toContain('do as I say');
  });

  it('has nothing in it that nobody sees, its name included, and is cut to size', async () => {
    const { text } = await attach([`see\u{e0041}n ${'y'.repeat(9_000)}`], { modelDescription: 'a\u{e0042}b' });
    expect(text).toContain('ab:\nseen ');
    expect(text).toMatch(/… \(\d+ characters more\)$/);
    expect(text.length).toBeLessThan(8_200);
  });
});
