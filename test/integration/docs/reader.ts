/** Somebody who follows the pages to the letter: a home of their own, `banksman` on the PATH, what they typed kept from block to block. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Block } from '../../../scripts/docs/page-blocks.ts';
import { passphrase } from '../cli/person.ts';
import { cli } from '../cli/support.ts';
import { type Dialogue, onTerminal, quoted } from '../cli/terminal.ts';

interface Printed {
  readonly status: number | null;
  readonly output: string;
}

/** What the program asks at a terminal, by the words that start it. */
const dialogues: readonly (readonly [starts: string, dialogue: Dialogue])[] = [
  [
    'banksman approvers create',
    [
      ['new passphrase for', `${passphrase}\r`],
      ['the same again', `${passphrase}\r`],
    ],
  ],
  [
    'banksman approvals approve',
    [
      ['one-time code (', '<code>\r'],
      ['passphrase of approver', `${passphrase}\r`],
    ],
  ],
  ...['codex', 'cursor', 'claude-desktop'].map((client) => [`banksman connect ${client}`, [['Write it? [y/N]', 'y\r']]] as const),
  ['banksman hook install', [['to go on', 'install\r']]],
  ['banksman hook uninstall', [['to go on', 'uninstall\r']]],
  ['banksman resume', [['passphrase of approver', `${passphrase}\r`]]],
  ['banksman store restore', [['to go on', 'restore\r']]],
  ['banksman audit export --sign', [['passphrase of approver', `${passphrase}\r`]]],
];

/** Ids and hashes that the page shows and the reader's machine makes anew. */
const ownId = /\b(?:req-[0-9a-f]{8}|ott-[A-Za-z0-9]{8}|[0-9a-z]{8}-[0-9a-f]{8})\b/g;

export class Reader {
  readonly home = mkdtempSync(path.join(tmpdir(), 'banksman-reader-'));
  readonly #stay: ChildProcess[] = [];
  readonly #ids = new Map<string, string>();
  #code = '';
  #last: Printed = { status: 0, output: '' };

  constructor() {
    mkdirSync(path.join(this.home, 'bin'));
    const shim = path.join(this.home, 'bin', 'banksman');
    writeFileSync(shim, `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(cli)} "$@"\n`);
    chmodSync(shim, 0o755);
    writeFileSync(path.join(this.home, '.session'), `cd ${quoted(this.home)}\n`);
  }

  /** Does what the block says. @returns what went otherwise than the page says */
  async follow(block: Block): Promise<string | undefined> {
    const { mark } = block;
    if (mark?.kind === 'stays') await this.#stays(block.text, mark.until);
    if (mark?.kind === 'shows') return this.#compare(block);
    if (mark?.kind === 'run' || mark?.kind === 'terminal') return this.#perform(block, mark);
    return undefined;
  }

  async #perform(
    { page, line, text }: Block,
    { kind, status }: { readonly kind: string; readonly status: number },
  ): Promise<string | undefined> {
    const own = this.#withIds(text);
    this.#last = await (kind === 'run' ? this.#shell(own) : this.#terminal(own));
    if (this.#last.status === status) return undefined;
    return `${page}:${line}: ended with ${this.#last.status}, not ${status}:\n${own}\n${this.#last.output}`;
  }

  /** A file of where the reader is, from a JSON value that is made of what is there. */
  async file(name: string): Promise<string> {
    const { output } = await this.#shell('pwd');
    return path.join(output.trim(), name);
  }

  async leave(): Promise<void> {
    for (const child of this.#stay) {
      if (child.pid !== undefined && child.exitCode === null) {
        process.kill(-child.pid, 'SIGTERM');
        await once(child, 'exit');
      }
    }
    rmSync(this.home, { recursive: true, force: true });
  }

  /** To files, and not through pipes: what a block leaves running would hold a pipe open. */
  async #shell(text: string): Promise<Printed> {
    const name = path.join(this.home, '.printed');
    const printed = openSync(name, 'w');
    const child = spawn('sh', ['-c', this.#script(text)], { env: this.#env(), stdio: ['ignore', printed, printed] });
    closeSync(printed);
    const [status] = (await once(child, 'exit')) as [number | null];
    return { status, output: readFileSync(name, 'utf8') };
  }

  async #terminal(text: string): Promise<Printed> {
    let output = '';
    let status: number | null = 0;
    for (const line of text.trim().split('\n')) {
      const asks = dialogues.find(([starts]) => line.startsWith(starts))?.[1] ?? [];
      const dialogue = asks.map(([sees, types]) => [sees, String(types).replace('<code>', this.#code)] as const);
      const end = await onTerminal(`sh -c ${quoted(this.#script(line))}`, dialogue, { env: this.#env() });
      this.#code = /one-time code: (ott-\w+)/.exec(end.screen)?.[1] ?? this.#code;
      output += end.screen;
      status = end.status;
      if (status !== 0) break;
    }
    return { status, output };
  }

  async #stays(text: string, until: string): Promise<void> {
    const name = path.join(this.home, `.stays-${this.#stay.length}`);
    const printed = openSync(name, 'w');
    const child = spawn('sh', ['-c', this.#script(text)], { env: this.#env(), detached: true, stdio: ['ignore', printed, printed] });
    closeSync(printed);
    this.#stay.push(child);
    while (!readFileSync(name, 'utf8').includes(until)) {
      if (child.exitCode !== null) throw new Error(`ended before it was up:\n${text}\n${readFileSync(name, 'utf8')}`);
      await sleep(50);
    }
  }

  /** Directory and variables are kept as in one terminal. */
  #script(text: string): string {
    const session = quoted(path.join(this.home, '.session'));
    return `. ${session}\nset -e\ntrap 'st=$?; { export -p; printf "cd \\"%s\\"\\n" "$PWD"; } > ${session}; exit $st' EXIT\n${text}`;
  }

  #env(): NodeJS.ProcessEnv {
    const { TMPDIR, LANG } = process.env;
    return {
      ...(TMPDIR === undefined ? {} : { TMPDIR }),
      ...(LANG === undefined ? {} : { LANG }),
      HOME: this.home,
      PATH: `${path.join(this.home, 'bin')}:${process.env['PATH'] ?? ''}`,
      TERM: 'dumb',
    };
  }

  #withIds(text: string): string {
    return text.replace(ownId, (id) => this.#ids.get(id) ?? id);
  }

  /** Each line that the page shows is printed, in that order; an id that the page shows first is the reader's own from then on. */
  #compare({ page, line: where, text }: Block): string | undefined {
    const lines = this.#last.output.split('\n').map((line) => line.trimEnd());
    let from = 0;
    for (const shown of text.trimEnd().split('\n')) {
      if (shown.trim() === '…') continue;
      const at = lines.findIndex((line, index) => index >= from && this.#same(shown.trimEnd(), line));
      if (at === -1) return `${page}:${where}: \`${shown}\` was not printed, but:\n${this.#last.output}`;
      from = at + 1;
    }
    return undefined;
  }

  #same(shown: string, line: string): boolean {
    const ids = shown.match(ownId) ?? [];
    const parts = shown.split(new RegExp(`…|${ownId.source}`));
    const kept = shown.match(new RegExp(`…|${ownId.source}`, 'g')) ?? [];
    const pattern = parts
      .map((part, index) => escaped(part) + (index < kept.length ? (kept[index] === '…' ? '.*' : `(${ownId.source})`) : ''))
      .join('');
    const found = new RegExp(`^${pattern}$`).exec(line);
    if (found === null) return false;
    const own = found.slice(1);
    if (!ids.every((id, index) => (this.#ids.get(id) ?? own[index]) === own[index])) return false;
    for (const [index, id] of ids.entries()) this.#ids.set(id, own[index] ?? id);
    return true;
  }
}

function escaped(text: string): string {
  return text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&');
}
