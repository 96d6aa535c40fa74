/** The texts for people in a source file: those that go through `t`, and those that do not. */
import { parseSync } from 'vite';

export interface Text {
  /** English, with `{0}`, `{1}`, … where something is put in. */
  readonly text: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

export interface FoundTexts {
  /** First arguments of `t`, `l10n.t` and `listed`, and templates with the tag `say`. */
  readonly localized: readonly Text[];
  /** What a `Fault` says, and what to do next, where that is no `say` and has no values. */
  readonly told: readonly Text[];
  /** What a `Fault` says with values in it, and no translation can have: it is no `say`. */
  readonly mute: readonly Text[];
  /** What a person may read, and no translation reaches. */
  readonly bare: readonly Text[];
  /** What something else said in English (`outcome.message`), shown as it is. */
  readonly raw: readonly Text[];
  /** What cannot be looked up, in words. */
  readonly faults: readonly string[];
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

type Parents = readonly Node[];

/** @param source of a TypeScript file */
export function textsIn(name: string, source: string): FoundTexts {
  const { program, errors } = parseSync(name, source);
  if (errors[0] !== undefined) throw new Error(`${name}: ${errors[0].message}`);
  const localized: Text[] = [];
  const told: Text[] = [];
  const mute: Text[] = [];
  const bare: Text[] = [];
  const raw: Text[] = [];
  const faults: string[] = [];
  const constants = new Map<string, Node>();
  const lineOf = (start: number) => source.slice(0, start).split('\n').length;
  const textAt = (text: string, { start, end }: Node): Text => ({ text, line: lineOf(start), start, end });
  const textsAt = (text: string | undefined, node: Node) => (text === undefined ? [] : [textAt(text, node)]);
  walk(program as unknown as Node, [], (node, parents) => {
    const text = literalText(node) ?? templateText(node);
    if (text !== undefined && isForPeople(text, node, parents)) bare.push(textAt(text, node));
    if (isSaid(node, parents)) raw.push(textAt(source.slice(node.start, node.end), node));
    if (isConstant(node)) constants.set(nameOf(node['id'] as Node), node['init'] as Node);
    const failing = faultTexts(node, constants);
    told.push(...failing.flatMap((own) => textsAt(literalText(own), own)));
    mute.push(...failing.flatMap((own) => (literalText(own) === undefined ? textsAt(templateText(own), own) : [])));
    localized.push(...textsAt(messageText(node), node));
    if (!isTranslation(node)) return;
    const { own, fault } = translationIn(node);
    localized.push(...textsAt(own, node));
    if (fault !== undefined) faults.push(`line ${lineOf(node.start)}: ${fault}`);
  });
  return { localized, told, mute, bare, raw, faults };
}

/** The numbers of the places in a text, sorted, each once. */
export function placeholders(text: string): readonly number[] {
  return [...new Set([...text.matchAll(/\{(\d+)\}/g)].map(([, digits]) => Number(digits)))].sort((a, b) => a - b);
}

function walk(node: Node, parents: Parents, visit: (node: Node, parents: Parents) => void): void {
  visit(node, parents);
  const inside = [...parents, node];
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) walk(child, inside, visit);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function argumentsOf(node: Node): readonly Node[] {
  return Array.isArray(node['arguments']) ? node['arguments'].filter(isNode) : [];
}

/** `t(…)` or `l10n.t(…)`. */
function isTranslation(node: Node): boolean {
  return node.type === 'CallExpression' && ['t', 'l10n.t', 'listed'].includes(calleeOf(node));
}

/** The text of a call of `t`, and what is wrong with the call. What `listed` marks has no values. */
function translationIn(node: Node): { readonly own?: string; readonly fault?: string } {
  const [message, ...values] = argumentsOf(node);
  const own = message && literalText(message);
  if (own === undefined) return { fault: '`t` needs its text as one literal' };
  const isFilled = calleeOf(node) === 'listed' || placeholders(own).join() === values.map((_value, index) => index).join();
  return isFilled ? { own } : { own, fault: `the places in \`${own}\` and the ${values.length} values differ` };
}

/** Of `new Fault(code, message, { next })`: what either can be, as far as the file says that before. */
function faultTexts(node: Node, constants: ReadonlyMap<string, Node>): readonly Node[] {
  if (node.type !== 'NewExpression' || calleeOf(node) !== 'Fault') return [];
  const [, message, options] = argumentsOf(node);
  const properties = options === undefined || !Array.isArray(options['properties']) ? [] : options['properties'].filter(isNode);
  const next = properties.filter(({ key }) => isNode(key) && nameOf(key) === 'next').map(({ value }) => value);
  const choices = [message, ...next].filter(isNode).flatMap(choicesOf);
  return choices.flatMap((choice) => choicesOf(constants.get(nameOf(choice)) ?? choice));
}

function isConstant({ type, id, init }: Node): boolean {
  return type === 'VariableDeclarator' && isNode(id) && id.type === 'Identifier' && isNode(init);
}

/** Of `a ? b : c` and `a ?? b`. */
function choicesOf(node: Node): readonly Node[] {
  const { type, consequent, alternate, left, right } = node;
  if (type !== 'ConditionalExpression' && type !== 'LogicalExpression') return [node];
  return [consequent, alternate, left, right].filter(isNode).flatMap(choicesOf);
}

/** Of say`…`. */
function messageText(node: Node): string | undefined {
  const { type, tag, quasi } = node;
  return type === 'TaggedTemplateExpression' && isNode(tag) && nameOf(tag) === 'say' && isNode(quasi) ? templateText(quasi) : undefined;
}

/** `log.info`, `new Error`; empty where it is no plain name. */
function calleeOf({ callee }: Node): string {
  return isNode(callee) ? nameOf(callee) : '';
}

function nameOf(node: Node): string {
  if (node.type === 'ThisExpression') return 'this';
  if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') return String(node['name']);
  const { object, property } = node;
  return node.type === 'MemberExpression' && isNode(object) && isNode(property) ? `${nameOf(object)}.${nameOf(property)}` : '';
}

function literalText(node: Node): string | undefined {
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : undefined;
  return node.type === 'TemplateLiteral' && (node['expressions'] as unknown[]).length === 0 ? templateText(node) : undefined;
}

function templateText(node: Node): string | undefined {
  if (node.type !== 'TemplateLiteral') return undefined;
  const quasis = node['quasis'] as readonly { readonly value: { readonly cooked: string } }[];
  return quasis.map(({ value }, index) => (index === 0 ? value.cooked : `{${index - 1}}${value.cooked}`)).join('');
}

/** Keys of what a person reads: there a single word counts, too. */
const readKeys = new Set([
  ...['label', 'title', 'description', 'detail', 'tooltip', 'placeHolder', 'prompt', 'text', 'spoken', 'stay', 'proceed', 'message'],
  ...['noun', 'blocked'],
]);

/** Calls whose texts no person reads in the editor's own language: logs, and what is compared or looked up. */
const unread = [
  /(?:^|\.)(?:log|channel)\.\w+$/,
  /(?:^|\.)#?log$/,
  /^(?:Error|RegExp|TypeError|Html|ThemeIcon|ThemeColor|Fault|cannotRead|reloadWhen)$/,
  /\.(?:replace|replaceAll|split|join|includes|startsWith|endsWith|executeCommand|affectsConfiguration|getConfiguration|inspect|match|test)$/,
  /^import$/,
];

function isForPeople(text: string, node: Node, parents: Parents): boolean {
  const parent = parents.at(-1);
  if (parent === undefined || parents.some((one, index) => isUnread(one, parents[index + 1] ?? node))) return false;
  if (isTagged(parents))
    return parent.type === 'TaggedTemplateExpression' && words(withoutMarkup(text).replace(/^ [a-z-]+(?:="\w*")?$/, ''));
  if (isName(node, parent) || /^[a-z]+(?:_[a-z]+)+$/.test(text)) return false;
  const shown = text.replace(/\$\([^)]*\)|\{\d+\}|Banksman/g, ' ');
  return sentence(shown) || (parent.type === 'Property' && readKeys.has(nameOf(parent['key'] as Node)) && words(shown));
}

/** Types, module names, keys, and what something is compared with. */
function isName(node: Node, parent: Node): boolean {
  if (/^(?:TS|Import|Export)/.test(parent.type) && parent.type !== 'TSAsExpression' && parent.type !== 'TSSatisfiesExpression') return true;
  if (parent.type === 'Property') return parent['key'] === node || ['key', 'example'].includes(nameOf(parent['key'] as Node));
  return parent.type === 'SwitchCase' || (parent.type === 'BinaryExpression' && /^[!=]==?$/.test(String(parent['operator'])));
}

/** @param inside the child of `node` that the text is in */
function isUnread(node: Node, inside: Node): boolean {
  if (isTranslation(node) || messageText(node) !== undefined) return true;
  if (/^TS(?:TypeReference|UnionType|LiteralType)/.test(node.type)) return true;
  if (node.type === 'VariableDeclarator') return /(?:Style|Pattern|Schema|Script)$|^csp$/.test(nameOf(node['id'] as Node));
  const isArgument = /^(?:Call|New)Expression$/.test(node.type) && inside !== node['callee'];
  // Its id, not what it does.
  if (isArgument && /(?:registerCommand|^toldCommand)$/.test(calleeOf(node))) return inside === argumentsOf(node)[0];
  return isArgument && unread.some((pattern) => pattern.test(calleeOf(node)));
}

/** Calls whose values a person reads. */
const shows = /^(?:t|escapeMarkdown|offerLog|notify\.\w+|window\.show\w+Message|(?:\w+\.)?dialogs\.(?:tell|offer))$/;
/** They take English and give the reader's language. */
const translators = /^(?:t|inWords|saidWords|reasonWords|faultWords|faultTexts|findingTexts|outcomeWords|answerText)$/;
const saidKeys = new Set(['message', 'next', 'reason', 'remedy']);

/** `outcome.message`, or `message` taken out of an object, in a call that shows it, and no translator around it. */
function isSaid(node: Node, parents: Parents): boolean {
  const name = saidName(node, parents);
  if (name === undefined || !saidKeys.has(name)) return false;
  const calls = parents.filter((one, index) => one.type === 'CallExpression' && (parents[index + 1] ?? node) !== one['callee']);
  const around = calls.map(calleeOf);
  const shown = around.findLastIndex((callee) => shows.test(callee));
  return shown >= 0 && !around.slice(shown).some((callee) => translators.test(callee) && callee !== 't');
}

function saidName(node: Node, parents: Parents): string | undefined {
  if (node.type === 'MemberExpression') {
    const { object, property } = node;
    return isNode(object) && isNode(property) && !translators.test(calleeOf(object)) ? nameOf(property) : undefined;
  }
  const parent = parents.at(-1);
  if (node.type !== 'Identifier' || parent === undefined || parent.type === 'MemberExpression' || parent.type === 'Property')
    return undefined;
  return isTakenOut(nameOf(node), parents) ? nameOf(node) : undefined;
}

/** From an object that no translator made; the innermost declaration counts. */
function isTakenOut(name: string, parents: Parents): boolean {
  for (const scope of parents.toReversed()) {
    const { params, body } = scope;
    const declared = isNode(body) && Array.isArray(body['body']) ? declarationsIn(body['body'].filter(isNode)) : [];
    const found = declared.find(({ id }) => isNode(id) && bindsIt(id, name));
    if (found !== undefined)
      return (
        isNode(found['init']) &&
        found['id'] !== undefined &&
        (found['id'] as Node).type === 'ObjectPattern' &&
        !translators.test(calleeOf(found['init']))
      );
    if (Array.isArray(params) && params.filter(isNode).some((one) => one.type === 'ObjectPattern' && bindsIt(one, name))) return true;
  }
  return false;
}

function declarationsIn(statements: readonly Node[]): readonly Node[] {
  return statements.flatMap(({ type, declarations }) =>
    type === 'VariableDeclaration' && Array.isArray(declarations) ? declarations.filter(isNode) : [],
  );
}

function bindsIt(pattern: Node, name: string): boolean {
  if (pattern.type === 'Identifier') return nameOf(pattern) === name;
  const properties = Array.isArray(pattern['properties']) ? pattern['properties'].filter(isNode) : [];
  return properties.some(({ value }) => isNode(value) && nameOf(value) === name);
}

/** Directly in the text of a template with a tag (`html`). */
function isTagged(parents: Parents): boolean {
  return parents.at(-1)?.type === 'TaggedTemplateExpression';
}

function withoutMarkup(text: string): string {
  return text.replace(/<[^>]*>|&\w+;|\{\d+\}/g, ' ');
}

/** Two words at least, of which one is no technical name. */
function sentence(text: string): boolean {
  return /\p{L}{2,}[,.:;!?…’'”)]* +[“(]?\p{L}/u.test(text) && !/^[\s\d.#<>=:;{}()-]*[a-z-]+ *[:{]/.test(text);
}

function words(text: string): boolean {
  return /\p{L}{2,}/u.test(text);
}
