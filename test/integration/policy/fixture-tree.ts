/** The tree of the corpus in a temporary directory, the literal roots of its inputs replaced by real ones. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createPathFacts } from '../../../src/connectors/workspace-files/path-facts.ts';
import type { WorkspaceView } from '../../../src/policy/paths/decide-path.ts';

const corpus = path.join(import.meta.dirname, '..', '..', 'fixtures', 'policy-corpus');

/** POSIX; Node cannot make one itself. */
const makeFifo = 'mkfifo';

interface FixtureFile {
  readonly files: Readonly<Record<string, string>>;
  readonly dirs: readonly string[];
  readonly symlinks: Readonly<Record<string, string>>;
}

export interface PolicyCase {
  readonly id: string;
  readonly surface: 'ssh' | 'readonly_bash' | 'workspace_command' | 'path';
  readonly family: string;
  readonly input: string;
  readonly must: 'allow' | 'block';
  readonly op?: 'read' | 'write' | 'list';
  readonly platform?: 'win32';
  /** The code that the decision must have. */
  readonly code?: string;
  /** It must be `deny`, not `ask`. */
  readonly denied?: boolean;
}

export interface FixtureTree {
  /** Holds `ws`, `outside`, … */
  readonly base: string;
  readonly root: string;
  readonly view: WorkspaceView;
  /** An input with the real directories in it. */
  place(input: string): string;
  remove(): Promise<void>;
}

/** `mark` becomes part of every secret and of every file outside, to be recognised in output. */
export async function createFixtureTree(mark = ''): Promise<FixtureTree> {
  const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'policy-')));
  const fixture = JSON.parse(readFileSync(path.join(corpus, 'fixture.json'), 'utf8')) as FixtureFile;
  for (const directory of fixture.dirs) mkdirSync(base + directory, { recursive: true });
  for (const [name, content] of Object.entries(fixture.files)) {
    mkdirSync(path.dirname(base + name), { recursive: true });
    writeFileSync(base + name, content.replace('SECRET', `SECRET${mark}`));
  }
  for (const [name, target] of Object.entries(fixture.symlinks))
    symlinkSync(/^\/(?:outside|ws)/.test(target) ? base + target : target, base + name);
  const root = `${base}/ws`;
  execFileSync(makeFifo, [`${root}/fifo`]);
  writeFileSync(`${root}/big.bin`, '');
  truncateSync(`${root}/big.bin`, 2 ** 40);
  const socket = createServer();
  await new Promise<void>((resolve) => socket.listen(`${root}/sock`, resolve));
  return {
    base,
    root,
    view: { ground: { roots: [root], platform: 'posix' }, facts: createPathFacts(root) },
    place: (input) => input.replace(/\/(?:ws-evil|ws\.bak|wsx|ws |ws|outside)(?=$|[/\s"'])/g, (found) => base + found),
    remove: async () => {
      await new Promise((resolve) => socket.close(resolve));
      rmSync(base, { recursive: true, force: true });
    },
  };
}

export function readCorpus(): readonly PolicyCase[] {
  return readJsonLines('attacks.public.jsonl') as readonly PolicyCase[];
}

/** What administrators of nodes type, and what must never run there. */
export function readSshCorpus(): readonly { readonly id: string; readonly kind: 'benign' | 'harm'; readonly input: string }[] {
  return readJsonLines('ssh.public.jsonl') as ReturnType<typeof readSshCorpus>;
}

function readJsonLines(file: string): readonly unknown[] {
  return readFileSync(path.join(corpus, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

const escapes: Readonly<Record<string, string>> = { '\\\\': '\\', '\\n': '\n', '\\t': '\t', '\\r': '\r' };

/** Our own cases for ssh: one command a line under `[allow family]` and `[block family]` headings. */
export function readAdversarial(): readonly PolicyCase[] {
  return readLines('adversarial-ssh.txt');
}

/** The red team's for ssh: `a` was fixed before `b` was written. */
export function readRedTeam(): readonly PolicyCase[] {
  return ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].flatMap((half) => readLines(`redteam/ssh-${half}.txt`));
}

/** The same for paths, one JSON object a line. */
export function readRedTeamPaths(): readonly PolicyCase[] {
  return ['path-a.jsonl', 'path-b.jsonl', 'path-c.jsonl'].flatMap((file) =>
    readFileSync(path.join(corpus, 'redteam', file), 'utf8')
      .trimEnd()
      .split('\n')
      .map(
        (line, index): PolicyCase => ({
          id: `${file}:${index + 1}`,
          surface: 'path',
          ...(JSON.parse(line) as Omit<PolicyCase, 'id' | 'surface'>),
        }),
      ),
  );
}

/** `[allow family]`, `[block family]`, `[block:CODE family]` where the code counts too, `[deny family]` where no person may agree. */
function readLines(file: string): readonly PolicyCase[] {
  const cases: PolicyCase[] = [];
  let heading: Pick<PolicyCase, 'must' | 'family' | 'code' | 'denied'> | undefined;
  for (const [index, line] of readFileSync(path.join(corpus, file), 'utf8').split('\n').entries()) {
    const found = /^\[(allow|block|deny)(?::(\w+))? ([\w-]+)\]$/.exec(line);
    if (found !== null)
      heading = {
        must: found[1] === 'allow' ? 'allow' : 'block',
        denied: found[1] === 'deny',
        family: found[3] ?? '',
        ...(found[2] === undefined ? {} : { code: found[2] }),
      };
    else if (heading !== undefined && line !== '')
      cases.push({ ...heading, id: `${file}:${index + 1}`, surface: 'ssh', input: unescapeLine(line) });
  }
  return cases;
}

function unescapeLine(line: string): string {
  return line.replace(/\\u([0-9a-f]{4})|\\[\\ntr]/g, (found, code: string | undefined) =>
    code === undefined ? (escapes[found] ?? found) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
