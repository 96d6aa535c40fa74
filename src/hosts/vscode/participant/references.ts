/** What a person attached to a question, as the model is told it: files are read by the tool for that, as by anybody. */
import type { ChatPromptReference, Location, Range, Uri } from 'vscode';
import type { JsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { saidWords } from '../fault-words.ts';
import { t } from '../l10n.ts';
import { resultText } from '../tools/chat-words.ts';
import { attachedText, attachedWords } from './model-words.ts';

/** One of them. */
interface Attached {
  /** For the model. */
  readonly text?: string;
  /** What was read. */
  readonly read?: Uri | Location;
  /** Why the model does not see it, or not all of it; for the person. */
  readonly notRead?: string;
}

interface AllAttached {
  /** For the model; empty where nothing was attached. */
  readonly text: string;
  readonly read: readonly (Uri | Location)[];
  readonly notRead: readonly { readonly what: string; readonly why: string }[];
}

const mostReferences = 10;

/** What the editor itself puts beside a question, for its own agent: a list of skills, a repository's instructions. Nobody attached them. */
const fromEditor = /^vscode\.(?:customizations|instructions)\./;

/** A file, or a part of one. */
export interface AttachedPlace {
  readonly uri: Pick<Uri, 'scheme' | 'fsPath'>;
  /** Absent: all of it. */
  readonly range?: Pick<Range, 'start' | 'end'>;
  /** As people know it. */
  readonly name: string;
  readonly isDirty: boolean;
  /** To be shown. */
  readonly shown: Uri | Location;
}

interface ReadDeps {
  /** Runs `read_file`: protection, redaction, marks and the trail are the tool's. */
  readFile(input: JsonObject): Promise<Outcome>;
  /** undefined: it is no file. */
  placeOf(value: unknown): AttachedPlace | undefined;
}

export async function attachedTo(given: readonly ChatPromptReference[], deps: ReadDeps): Promise<AllAttached> {
  const references = given.filter(({ id }) => !fromEditor.test(id));
  const all: (Attached & { readonly what: string })[] = [];
  // The editor lists the last one first.
  for (const { id, value, modelDescription } of references.toReversed().slice(0, mostReferences)) {
    const place = deps.placeOf(value);
    const what = place?.name ?? modelDescription ?? id;
    all.push({ what, ...(place === undefined ? asText(value) : await readAt(place, deps)) });
  }
  const texts = all.flatMap(({ what, text }) => (text === undefined ? [] : [`${attachedText(what)}:\n${text}`]));
  const rest = references.length - mostReferences;
  const tooMany = rest > 0 ? [{ what: String(rest), why: t('at most {0} references are read', mostReferences) }] : [];
  return {
    text: attachedWords(texts),
    read: all.flatMap(({ read }) => read ?? []),
    notRead: [...all.flatMap(({ what, notRead }) => (notRead === undefined ? [] : [{ what, why: notRead }])), ...tooMany],
  };
}

function asText(value: unknown): Attached {
  return typeof value === 'string' ? { text: attachedText(value) } : { notRead: t('it is neither a text nor a file') };
}

async function readAt({ uri, range, isDirty, shown }: AttachedPlace, { readFile }: ReadDeps): Promise<Attached> {
  if (uri.scheme !== 'file') return { notRead: t('it is not saved on this machine’s disk') };
  const outcome = await readFile({ path: uri.fsPath, ...linesOf(range) });
  const { summary, json } = resultText(outcome);
  if (outcome.status !== 'ok') return { text: summary + json, notRead: saidWords(outcome.message) };
  const unsaved = isDirty ? { notRead: t('it has changes that are not saved, which are not read') } : {};
  return { text: summary + json, read: shown, ...unsaved };
}

/** From 1; a selection that ends at the start of a line leaves that line out. */
function linesOf(range: AttachedPlace['range']): JsonObject {
  if (range === undefined) return {};
  const { start, end } = range;
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  return { start_line: start.line + 1, end_line: last };
}
