/** What a person attached to a question, as the model is told it: files are read by the tool for that, as by anybody. */
import { type ChatPromptReference, Location, Uri, workspace } from 'vscode';
import type { JsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
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

type ReadFile = (input: JsonObject) => Promise<Outcome>;

/** @param readFile runs `read_file`: protection, redaction, marks and the trail are the tool's */
export async function attachedTo(given: readonly ChatPromptReference[], readFile: ReadFile): Promise<AllAttached> {
  const references = given.filter(({ id }) => !fromEditor.test(id));
  const all: (Attached & { readonly what: string })[] = [];
  // The editor lists the last one first.
  for (const reference of references.toReversed().slice(0, mostReferences))
    all.push({ what: nameOf(reference), ...(await attached(reference.value, readFile)) });
  const texts = all.flatMap(({ what, text }) => (text === undefined ? [] : [`${what}:\n${text}`]));
  const rest = references.length - mostReferences;
  const tooMany = rest > 0 ? [{ what: String(rest), why: t('at most {0} references are read', mostReferences) }] : [];
  return {
    text: attachedWords(texts),
    read: all.flatMap(({ read }) => read ?? []),
    notRead: [...all.flatMap(({ what, notRead }) => (notRead === undefined ? [] : [{ what, why: notRead }])), ...tooMany],
  };
}

function nameOf({ id, value, modelDescription }: ChatPromptReference): string {
  const place = placeOf(value);
  return place === undefined ? (modelDescription ?? id) : workspace.asRelativePath(place);
}

function placeOf(value: unknown): Uri | undefined {
  if (value instanceof Uri) return value;
  return value instanceof Location ? value.uri : undefined;
}

async function attached(value: unknown, readFile: ReadFile): Promise<Attached> {
  if (typeof value === 'string') return { text: attachedText(value) };
  const place = placeOf(value);
  if (place === undefined) return { notRead: t('it is neither a text nor a file') };
  if (place.scheme !== 'file') return { notRead: t('it is not saved on this machine’s disk') };
  const outcome = await readFile({ path: place.fsPath, ...linesOf(value) });
  const { summary, json } = resultText(outcome);
  if (outcome.status !== 'ok') return { text: summary + json, notRead: outcome.message };
  const unsaved = isDirty(place) ? { notRead: t('it has changes that are not saved, which are not read') } : {};
  return { text: summary + json, read: value instanceof Location ? value : place, ...unsaved };
}

/** From 1; a selection that ends at the start of a line leaves that line out. */
function linesOf(value: unknown): JsonObject {
  if (!(value instanceof Location)) return {};
  const { start, end } = value.range;
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  return { start_line: start.line + 1, end_line: last };
}

function isDirty(uri: Uri): boolean {
  return workspace.textDocuments.some((document) => document.isDirty && document.uri.toString() === uri.toString());
}
