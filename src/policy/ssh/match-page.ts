/** Does one command fit its page? Every word must be accounted for. */
import { misfit, orRefusal, type Refusal, type Word } from './line.ts';
import type { Call, Form, Kind, Objection, Optional, Page, Slot, Takes } from './page.ts';

export type Match = { readonly ok: true; readonly files: readonly Word[]; readonly ask?: string } | Refusal;

interface Reading {
  readonly page: Page;
  readonly name: Word;
  readonly words: readonly Word[];
  index: number;
  /** The `--` was read. */
  ended: boolean;
  readonly options: Map<string, string>;
  /** Verbs included. */
  readonly operands: Word[];
  readonly files: Word[];
  readonly questions: string[];
}

/** `words` without the program's name; `name` is it. */
export function matchPage(page: Page, name: Word, words: readonly Word[], piped: boolean): Match {
  const reading: Reading = { page, name, words, index: 0, ended: false, options: new Map(), operands: [], files: [], questions: [] };
  return orRefusal(() => {
    while (reading.index < words.length) step(reading, take(reading, name));
    const { verb, form, rest } = settleVerb(reading);
    fillSlots(reading, form, rest);
    const call = callOf(reading, { verb, operands: rest.map((word) => word.text), piped });
    const objections = [
      page.check?.(call),
      form === page ? undefined : form.check?.(call),
      pipeFault(reading, call, page.filter ?? form.filter),
    ];
    return judged(reading, objections);
  });
}

function callOf({ name, options }: Reading, call: Pick<Call, 'verb' | 'operands' | 'piped'>): Call {
  return { ...call, name: name.text, options, has: (...given) => given.some((spelling) => options.has(spelling)) };
}

function judged({ name, files, questions }: Reading, objections: readonly (Objection | undefined)[]): Match {
  const refusal = objections.find((objection) => typeof objection === 'string');
  if (refusal !== undefined) throw misfit(name, `\`${name.text}\` ${refusal}`);
  const asked = objections.flatMap((objection) => (typeof objection === 'object' ? [objection.ask] : []));
  const [ask] = [...asked, ...questions];
  return { ok: true, files, ...(ask === undefined ? {} : { ask }) };
}

/** A filter reads what is piped into it and then no file; without a pipe it reads files. */
function pipeFault({ files }: Reading, { piped }: Call, filter: true | undefined): string | undefined {
  if (piped && !filter) return 'behind a pipe, where only filters stand';
  if (piped && files.length > 0) return `with \`${shown(files[0])}\` behind a pipe; it reads either a file or its input`;
  return !piped && filter && files.length === 0 ? 'without a file, which would wait for input' : undefined;
}

function take(reading: Reading, option: Word): Word {
  const next = reading.words[reading.index];
  if (next === undefined) throw misfit(option, `\`${shown(option)}\` without its value`);
  reading.index += 1;
  return next;
}

function step(reading: Reading, word: Word): void {
  const { page, ended } = reading;
  if (ended) reading.operands.push(word);
  else if (readWhole(reading, word)) return;
  else if (!word.text.startsWith('-') || word.text === '-' || page.style === 'text') reading.operands.push(word);
  else if (page.style !== undefined) throw unknownOption(reading, word, word.text);
  else if (word.text === '--') reading.ended = true;
  else if (word.text.startsWith('--')) throw unknownOption(reading, word, word.text);
  else readLetters(reading, word);
}

/** An option that is a word: `--all`, `--type=ext4`, and where they are words `-br`, `dev`. */
function readWhole(reading: Reading, word: Word): boolean {
  const options = optionsNow(reading);
  const isLong = word.text.startsWith('--') && word.text !== '--';
  if (!isLong && reading.page.style === undefined) return readNumber(reading, word, options);
  // SECURITY: `ps -p=1` is no `ps -p 1`; a `=` ends the name of a long option only. `-c=never` is a spelling of its own.
  const equals = isLong ? word.text.indexOf('=') : -1;
  const spelling = equals < 0 ? word.text : word.text.slice(0, equals);
  const takes = options.get(spelling);
  if (takes === undefined) return false;
  readValue(reading, { option: word, spelling, takes, attached: equals < 0 ? undefined : { ...word, text: word.text.slice(equals + 1) } });
  return true;
}

function readNumber(reading: Reading, word: Word, options: ReadonlyMap<string, Taken>): boolean {
  if (!options.has('-#') || !/^-\d{1,6}$/.test(word.text)) return false;
  reading.options.set('-#', word.text.slice(1));
  return true;
}

/** `-abc` letter by letter; what follows a letter that takes a value is its value. */
function readLetters(reading: Reading, word: Word): void {
  const options = optionsNow(reading);
  for (let at = 1; at < word.text.length; at += 1) {
    const spelling = `-${word.text.charAt(at)}`;
    const takes = options.get(spelling);
    if (takes === undefined) throw unknownOption(reading, word, spelling);
    const rest = word.text.slice(at + 1);
    const attached = takes === 'nothing' || rest === '' ? undefined : { ...word, text: rest };
    readValue(reading, { option: word, spelling, takes, attached });
    if (takes !== 'nothing') return;
  }
}

type Taken = Takes | 'nothing';

interface Use {
  readonly option: Word;
  readonly spelling: string;
  readonly takes: Taken;
  readonly attached: Word | undefined;
}

function readValue(reading: Reading, { option, spelling, takes, attached }: Use): void {
  // A word such as `dev` that stands twice is read otherwise by some programs.
  if (takes !== 'nothing' && !spelling.startsWith('-') && reading.options.has(spelling)) throw misfit(option, `\`${spelling}\` twice`);
  const value = isOptional(takes) ? optionalValue(reading, takes, attached) : neededValue(reading, { option, spelling, takes, attached });
  const wanted = isOptional(takes) ? takes.optional : takes;
  if (value !== undefined && wanted !== 'nothing') accept(reading, value, wanted, `after \`${spelling}\``);
  reading.options.set(spelling, value?.text ?? '');
}

function optionalValue(reading: Reading, { optional, apart }: Optional, attached: Word | undefined): Word | undefined {
  const next = reading.words[reading.index];
  if (attached !== undefined || !apart || next === undefined || !optional.accepts(next.text)) return attached;
  reading.index += 1;
  return next;
}

function neededValue(reading: Reading, { option, spelling, takes, attached }: Use): Word | undefined {
  if (takes !== 'nothing') return attached ?? take(reading, option);
  if (attached !== undefined) throw misfit(option, `a value for \`${spelling}\`, which takes none`);
  return undefined;
}

function isOptional(takes: Taken): takes is Optional {
  return takes !== 'nothing' && 'optional' in takes;
}

/** Checks a value or operand, and notes it where it names a file. */
function accept(reading: Reading, word: Word, wanted: Kind, where: string): void {
  if (!wanted.accepts(word.text)) throw misfit(word, `\`${shown(word)}\` ${where}, where ${wanted.name} must stand`);
  if (wanted.file) reading.files.push(word);
  const question = wanted.ask?.(word.text);
  if (question !== undefined) reading.questions.push(question);
}

/** The verb that the operands begin with, the longest, and what it takes. A page without verbs is its own form. */
function settleVerb(reading: Reading): { readonly verb: string; readonly form: Form; readonly rest: readonly Word[] } {
  const { page, operands, name } = reading;
  if (page.verbs === undefined) return { verb: '', form: page, rest: operands };
  const found = verbOf(page, operands);
  // SECURITY: `''` stands for the program alone; `systemctl restart` must not pass as `systemctl` with a unit named restart.
  if (found !== undefined && (found.verb !== '' || operands.length === 0))
    return { ...found, rest: operands.slice(found.verb === '' ? 0 : found.verb.split(' ').length) };
  const known = [...verbsOf(page).keys()].filter((verb) => verb !== '').map((verb) => `\`${verb}\``);
  const listed = `${known.slice(0, 24).join(', ')}${known.length > 24 ? ', …' : ''}`;
  const said = operands[0] === undefined ? 'alone' : `\`${shown(operands[0])}\``;
  throw misfit(operands[0] ?? name, `\`${name.text}\` ${said}, which is not among what only shows: ${listed}`);
}

function verbOf(page: Page, operands: readonly Word[]): { readonly verb: string; readonly form: Form } | undefined {
  const verbs = verbsOf(page);
  for (let length = Math.min(4, operands.length); length >= 0; length -= 1) {
    const verb = operands
      .slice(0, length)
      .map((operand) => operand.text)
      .join(' ');
    const form = verbs.get(verb);
    if (form !== undefined) return { verb, form };
  }
  return undefined;
}

function fillSlots(reading: Reading, form: Form, rest: readonly Word[]): void {
  const { operands = [] } = form;
  const slots = typeof operands === 'function' ? operands(callOf(reading, { verb: '', operands: [], piped: false })) : operands;
  let at = 0;
  for (const slot of slots) at += fillSlot(reading, slot, rest.slice(at));
  const left = rest[at];
  if (left === undefined) return;
  const last = slots.at(-1);
  throw misfit(left, `\`${shown(left)}\`, ${last === undefined ? 'where no operand stands' : misplaced(kindOf(last), left)}`);
}

/** How many of the words the slot takes: as many as fit. */
function fillSlot(reading: Reading, slot: Slot, words: readonly Word[]): number {
  const kind = kindOf(slot);
  const { min, max } = 'kind' in slot ? slot : { min: 1, max: 1 };
  let taken = 0;
  for (const word of words.slice(0, max)) {
    if (taken >= min && !kind.accepts(word.text)) break;
    accept(reading, word, kind, 'as an operand');
    taken += 1;
  }
  if (taken < min) throw misfit(reading.name, `\`${reading.name.text}\` without ${kind.name}`);
  return taken;
}

function kindOf(slot: Slot): Kind {
  return 'kind' in slot ? slot.kind : slot;
}

function misplaced(wanted: Kind, { text }: Word): string {
  return wanted.accepts(text) ? 'which is one operand too many' : `where ${wanted.name} must stand`;
}

/** The options that may stand here: the page's, and those of the verb that was read so far. */
function optionsNow({ page, operands }: Reading): ReadonlyMap<string, Taken> {
  const form = page.verbs === undefined ? undefined : verbOf(page, operands)?.form;
  if (form === undefined) return spellings(page, page.style);
  const ofPage = withVerb.get(page) ?? new WeakMap<Form, ReadonlyMap<string, Taken>>();
  withVerb.set(page, ofPage);
  const found = ofPage.get(form) ?? new Map([...spellings(page, page.style), ...spellings(form, page.style)]);
  ofPage.set(form, found);
  return found;
}

/** Asked for at each word: made once for each verb of a page. */
const withVerb = new WeakMap<Page, WeakMap<Form, ReadonlyMap<string, Taken>>>();

/** A function of a page's data that is worked out once. */
function kept<K extends object, V>(make: (key: K, style?: Page['style']) => V): typeof make {
  const known = new WeakMap<K, V>();
  return (key, style) => {
    const value = known.get(key) ?? make(key, style);
    known.set(key, value);
    return value;
  };
}

const spellings = kept((form: Form, style): ReadonlyMap<string, Taken> => {
  const options: readonly (readonly [string, Taken])[] = [[form.flags ?? '', 'nothing'], ...Object.entries(form.options ?? {})];
  const spelled = options.flatMap(([names, takes]) =>
    names.split(/\s+/).flatMap((name) => lettersOf(name, style).map((spelling): [string, Taken] => [spelling, takes])),
  );
  return new Map(spelled);
});

function lettersOf(name: string, style: Page['style']): readonly string[] {
  if (style === 'dashes' && name.startsWith('--')) return [name, name.slice(1)];
  if (style !== undefined || name.startsWith('--') || name === '-#') return [name];
  return Array.from(name.slice(1), (letter) => `-${letter}`);
}

const verbsOf = kept(({ verbs = {} }: Page): ReadonlyMap<string, Form> => {
  const named = Object.entries(verbs).flatMap(([names, form]) => names.split(',').map((name): [string, Form] => [name.trim(), form]));
  return new Map(named);
});

function unknownOption({ name }: Reading, word: Word, spelling: string): Error {
  const [option = ''] = spelling.split('=');
  const inside = word.text.startsWith(option) ? '' : ` in \`${shown(word)}\``;
  return misfit(word, `\`${option.slice(0, 60)}\`${inside}, which is not among the options of \`${name.text}\` that only show`);
}

function shown(word: Word | undefined): string {
  const { text } = word ?? { text: '' };
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
