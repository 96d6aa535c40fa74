/** The fenced blocks of a page, with what a comment before each says of it. Comments are not seen in the rendered page. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * - `run`: a shell runs it, and it ends with `status` (0 where nothing is said).
 * - `stays`: a shell runs it until the page is done; `until` is what it prints once it is up.
 * - `terminal`: a person types at it; the status is as with `run`.
 * - `shows`: what the block before printed. `…` stands for any text within a line, a line of it for any lines; ids are of the reader's own.
 * - `config`: a whole configuration of the machine.
 */
export type Mark =
  | { readonly kind: 'run' | 'terminal'; readonly status: number }
  | { readonly kind: 'stays'; readonly until: string }
  | { readonly kind: 'shows' | 'config' };

export interface Block {
  readonly page: string;
  /** Of the fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly mark: Mark | undefined;
}

const fence = /^(?:<!-- (?<mark>[^\n]*?) -->\n)?```(?<language>[a-z]*)\n(?<text>[\s\S]*?)^```$/gm;
export const docs = path.join(import.meta.dirname, '../../docs');

/** Every fenced block of a page in `docs/`, in its order. */
export function blocksOf(page: string): readonly Block[] {
  const source = readFileSync(path.join(docs, page), 'utf8');
  return [...source.matchAll(fence)].map((found) => {
    const { mark, language = '', text = '' } = found.groups ?? {};
    const line = source.slice(0, found.index).split('\n').length + (mark === undefined ? 0 : 1);
    return { page, line, language, text, mark: mark === undefined ? undefined : markOf(mark, `${page}:${line}`) };
  });
}

function markOf(said: string, where: string): Mark {
  const [, kind, rest = ''] = /^(\w+)(?:[:,]? (.+))?$/.exec(said) ?? [];
  if (kind === 'run' || kind === 'terminal') return { kind, status: rest === '' ? 0 : Number(rest) };
  if (kind === 'stays') return { kind, until: rest };
  if (kind === 'shows' || kind === 'config') return { kind };
  throw new Error(`${where}: no such mark: ${said}`);
}

/** @throws when it is no JSON object */
export function configOf({ page, line, text }: Block): object {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new Error(`${page}:${line}: no object`);
  return value;
}
