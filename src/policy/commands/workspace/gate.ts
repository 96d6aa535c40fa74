/** What is refused before the parser sees it: text that a shell reads otherwise than the grammar does, and text that people cannot see. */

export interface GateFault {
  readonly offset: number;
  readonly message: string;
}

const longest = 10_000;

/** Each with what is said of it. Measured against bash 5.2: tree-sitter-bash 0.25.1 misreads these without an error. */
const faults: readonly (readonly [RegExp, string])[] = [
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
  [/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/, 'a control character'],
  [
    /[^\S \t\n]|[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029]/u,
    'an invisible or reordering character, or a blank that is none for the shell',
  ],
  [/\$\[/, '`$[`, old arithmetic'],
  [/\$\{[\s|]/, '`${ `, a substitution that runs commands'],
  [/\$\{[^}\n]*@[A-Za-z]\}/, '`@` in an expansion, which may run what a variable holds'],
  [/\$\{!(?!\w+\[[@*]\]\})/, '`!` in an expansion, a variable named by another'],
];

/** The first thing in the text that no parse can be trusted with, or undefined. */
export function gateFault(text: string): GateFault | undefined {
  if (text.trim() === '') return { offset: 0, message: 'no command' };
  if (text.length > longest) return { offset: longest, message: `a command longer than ${longest} characters` };
  if (!text.isWellFormed()) return { offset: 0, message: 'text that is not well-formed' };
  // The common command is one line of printable ASCII without the rarer constructs.
  if (/^[ -~]*$/.test(text) && !/\$[[{]|\\`/.test(text)) return undefined;
  const escaped = escapedBackquote(text);
  if (escaped !== undefined) return escaped;
  for (const [pattern, message] of faults) {
    const offset = text.search(pattern);
    if (offset >= 0) return { offset, message };
  }
  return undefined;
}

/** Alone an escaped backquote is the character; beside real ones it may start a substitution within a substitution. */
function escapedBackquote(text: string): GateFault | undefined {
  const offset = text.indexOf('\\`');
  if (offset < 0) return undefined;
  const pairs = /\\[\s\S]/g;
  const isReal = text.replace(pairs, '').includes('`');
  const isEscaped = text.match(pairs)?.includes('\\`') ?? false;
  return isReal && isEscaped ? { offset, message: 'an escaped backquote beside a substitution' } : undefined;
}
