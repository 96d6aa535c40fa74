/**
 * Extended attributes and access lists, which Node can neither read nor write: as `tar` notes them in an archive, without content. A `tar` that
 * does not know them (busybox) finds none. Source: pax(1), GNU tar's `SCHILY.xattr` and `SCHILY.acl` records.
 */
import { mkdirSync, rmSync } from 'node:fs';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';

/** The attributes of one entry, by name; the values in no readable form. */
export type Attributes = ReadonlyMap<string, string>;

const kept = ['--xattrs', "--xattrs-include='user.*'", '--acls'].join(' ');
const create = `tar -c --format=pax ${kept} --xattrs-include='trusted.overlay.origin' --no-recursion --null -T - -f -`;
/**
 * Of files without their content: empty ones with their attributes, in directories of our own: with their own modes those would close themselves to
 * a user before all is copied.
 */
const emptyCopies = `files=(); folder=
copy() {
  [ \${#files[@]} -eq 0 ] || { mkdir -p -- "$1/$folder" && printf '%s\\0' "\${files[@]}" | xargs -0 cp -a --attributes-only -t "$1/$folder" --; } 2>/dev/null
  files=()
}
while IFS= read -r -d '' file; do
  [ "\${file%/*}" = "$folder" ] || { copy "$1"; folder=\${file%/*}; }
  files+=("$file")
done
copy "$1"; cd "$1" && find . -type f -print0`;
const limits = { timeoutMs: 120_000, env: launcherEnvironment };
const mostBytesOfOne = 16_384;

export interface AttributesOf {
  /** Absolute; the paths are below it. */
  readonly root: string;
  readonly paths: readonly string[];
  /** An empty directory on the same file system, removed afterwards: needed for files. */
  readonly scratch?: string;
}

/** Of those that have any. What cannot be read has none. */
export async function readAttributes(
  programs: ProgramRunner,
  { root, paths, scratch }: AttributesOf,
): Promise<ReadonlyMap<string, Attributes>> {
  if (paths.length === 0) return new Map();
  if (scratch !== undefined) mkdirSync(scratch, { mode: 0o700 });
  const script = `${scratch === undefined ? '' : `${emptyCopies} | `}${create} 2>/dev/null | base64 -w 0`;
  const args = ['--noprofile', '--norc', '-c', script, 'bash', scratch ?? ''];
  const input = paths.map((path) => `./${path}\0`).join('');
  const line = { program: '/bin/bash', args, cwd: root, input, keepBytes: paths.length * mostBytesOfOne + 65_536, ...limits };
  const { stdout } = await programs.run(line, new AbortController().signal);
  if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  return parsePax(Buffer.from(stdout, 'base64'));
}

/** Makes directories with the attributes and access lists that they have below `root`, and those above them. The overlay's own marks stay behind. */
export async function copyDirectories(
  programs: ProgramRunner,
  { root, paths, to }: Omit<AttributesOf, 'scratch'> & { readonly to: string },
): Promise<void> {
  const script = `tar -c ${kept} --xattrs-exclude='user.overlay.*' --no-recursion --null -T - -f - | tar -x -p ${kept} -C "$1" -f -`;
  const args = ['--noprofile', '--norc', '-c', script, 'bash', to];
  const input = paths.map((path) => `./${path}\0`).join('');
  await programs.run({ program: '/bin/bash', args, cwd: root, input, keepBytes: 1_024, ...limits }, new AbortController().signal);
}

const block = 512;

function parsePax(archive: Buffer): ReadonlyMap<string, Attributes> {
  const found = new Map<string, Attributes>();
  let records: ReadonlyMap<string, string> = new Map();
  for (let at = 0; at + block <= archive.length; ) {
    const field = (start: number, length: number) => archive.toString('latin1', at + start, at + start + length).split('\0', 1)[0] ?? '';
    const [name, prefix, type] = [field(0, 100), field(345, 155), field(156, 1)];
    const size = Number.parseInt(field(124, 12), 8) || 0;
    const content = archive.subarray(at + block, at + block + size);
    at += block + Math.ceil(size / block) * block;
    if (type === 'x') {
      records = recordsIn(content);
      continue;
    }
    const path = asText(records.get('path') ?? (prefix === '' ? name : `${prefix}/${name}`));
    const attributes = new Map([...records].filter(([key]) => key.startsWith('SCHILY.')));
    if (path !== '' && attributes.size > 0) found.set(path.replace(/^\.\//, '').replace(/\/$/, ''), attributes);
    records = new Map();
  }
  return found;
}

/** `LENGTH KEY=VALUE\n`, the length that of all of it. */
function recordsIn(content: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const blank = content.indexOf(' ', at);
    const length = Number(content.toString('latin1', at, blank));
    if (blank < 0 || !(length > 0)) break;
    const record = content.toString('latin1', blank + 1, at + length - 1);
    const equals = record.indexOf('=');
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

function asText(latin: string): string {
  return Buffer.from(latin, 'latin1').toString('utf8');
}

const ofOverlay = /^SCHILY\.xattr\.(?:user|trusted)\.overlay\./;

/** But for the overlay's own marks. */
export function withoutMarks(attributes: Attributes = new Map()): Attributes {
  return new Map([...attributes].filter(([name]) => !ofOverlay.test(name)));
}

/** Of an upper layer: it is a copy of something that was there. */
export function isCopiedUp(attributes: Attributes = new Map()): boolean {
  return [...attributes.keys()].some((name) => name.endsWith('overlay.origin'));
}

export function areSame(one: Attributes, other: Attributes): boolean {
  return one.size === other.size && [...one].every(([name, value]) => other.get(name) === value);
}
