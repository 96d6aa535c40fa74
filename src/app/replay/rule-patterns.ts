/** The narrowest auto-approve patterns for recorded calls. Pure. */
import { textOf } from '#kernel/json';
import type { Target } from '#kernel/resource';
import { ruleSubject } from '#policy/auto-approve';
import type { RecordedCall } from './recorded-call.ts';

/** `tool:run_command:npm test`; undefined: the call has no subject, or one that a pattern would read as wider than it is. */
export function subjectOf({ tool, targets }: RecordedCall): string | undefined {
  const host = targets.find(({ kind }) => kind === 'destination')?.['host'];
  if (typeof host === 'string') return `destination:${host}`;
  // Sound: a record keeps each target's kind and what names it, and no more is read here.
  const { names } = ruleSubject(tool.name, 'yellow', targets as unknown as readonly Target[]);
  // Of a node's names the one with its cluster is the narrower.
  const name = names.find((one) => one.includes('/') && textOf(targets[0]?.['cluster']) !== undefined) ?? names[0];
  return name === undefined || name.includes('*') || name.length > 250 ? undefined : `tool:${tool.name}:${name}`;
}

/** So many have to be alike before one pattern stands for them. */
const fewest = 3;

/** Patterns with one star for patterns that differ in one word of a command, or in the file of one folder. */
export function globsFor(patterns: readonly string[]): readonly { readonly pattern: string; readonly covers: readonly string[] }[] {
  const families = new Map<string, Set<string>>();
  for (const pattern of new Set(patterns))
    for (const glob of globsOf(pattern)) families.set(glob, (families.get(glob) ?? new Set()).add(pattern));
  const wide = [...families].filter(([, covers]) => covers.size >= fewest);
  // Of patterns for the same calls the longest is the narrowest.
  const narrowest = new Map<string, string>();
  for (const [glob, covers] of wide) {
    const key = [...covers].sort((a, b) => (a < b ? -1 : 1)).join('\n');
    if ((narrowest.get(key)?.length ?? 0) < glob.length) narrowest.set(key, glob);
  }
  return [...narrowest].map(([key, pattern]) => ({ pattern, covers: key.split('\n') }));
}

const fileTools = ['tool:write_file:', 'tool:edit_file:'];

function globsOf(pattern: string): readonly string[] {
  if (fileTools.some((prefix) => pattern.startsWith(prefix))) {
    const [, folder, ending = ''] = /^(.*\/)[^/]*?(\.[A-Za-z0-9]{1,8})?$/.exec(pattern) ?? [];
    return folder === undefined ? [] : [`${folder}*${ending}`, `${folder}*`];
  }
  const [, prefix = '', text = ''] = /^(tool:[a-z_]+:)(.+)$/s.exec(pattern) ?? [];
  const words = text.split(' ');
  // The program itself stays.
  return words.length > 12 ? [] : words.flatMap((_, index) => (index === 0 ? [] : [prefix + words.with(index, '*').join(' ')]));
}
