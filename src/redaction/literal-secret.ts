/**
 * Whether `password = …` holds a secret or names one. Source code is full of the second: `password: string`, `token = getToken()`,
 * `secret: process.env.SECRET`. Hiding those would make a file unreadable, and unwritable for who has read it. In doubt it is a secret.
 */

/** What stands for a secret: variables, templates, `<your-password>`, `********`, our own mark. */
export function isPlaceholder(value: string): boolean {
  return placeholders.some((pattern) => pattern.test(value));
}

const placeholders: readonly RegExp[] = [
  /^\[redacted:/,
  // $NAME, ${NAME}, $(command), %NAME%, %s, {name}, {{ name }}, <name>
  /^\$(?:[A-Za-z_]\w*$|\{|\()/,
  /^%(?:[A-Z_]+%|[sdv(])/,
  /^\{[^}]*\}+$|\$\{[^}]{1,100}\}|\{\{[^}]{1,100}\}\}/,
  /^<[^>]*>?$/,
  /^[xX*.#_•-]+$/,
  /^your[-_ ]/i,
  // YAML tags that fetch it from elsewhere.
  /^!(?:Ref|Sub|GetAtt|ENV|vault|secret)\b/,
];

const typeOrConstant =
  /^(?:string|number|boolean|bool|bytes?|buffer|uint8array|char|int|integer|float|object|any|unknown|never|void|null|none|nil|undefined|true|false|optional|required|default|text|varchar|self|this|readonly|input|stdin|prompt|empty|missing|invalid|expired|unset|hidden|redacted)(?:\[\]|\?|!)?$/i;

/** `match`: whole, the word, the separator, the value with its quotes. `after`: what follows, some characters. */
export function isLiteralSecret(match: readonly (string | undefined)[], after: string): boolean {
  const [, word = '', separator = '', raw = ''] = match;
  const quoted = /^["'`]/.test(raw);
  const value = quoted ? raw.slice(1, -1) : raw;
  if (isPlaceholder(value)) return false;
  // `PASSWORD=…` is an environment's, whatever its value is called.
  if (namesItself(value) && (quoted || word !== word.toUpperCase())) return false;
  return quoted ? isQuotedSecret(word, value) : isBareSecret({ word, separator, value, after });
}

/** `password: newPassword`, `token=access_token`: a name that holds the word again. */
function namesItself(value: string): boolean {
  return /^[A-Za-z_$][A-Za-z_$. -]*\)*$/.test(value) && /pass(?:wor)?d|passphrase|secret|token|key|credential/i.test(value);
}

/** Words are a label or a message, unless it is a passphrase. */
function isQuotedSecret(word: string, value: string): boolean {
  if (/\s/.test(value)) return /passphrase/i.test(word) && !/[.?!:]$/.test(value);
  return !typeOrConstant.test(value) && !isPath(value) && !isVersion(value) && !/^(?:https?|file):\/\//.test(value);
}

interface Bare {
  readonly word: string;
  readonly separator: string;
  readonly value: string;
  readonly after: string;
}

function isBareSecret({ word, separator, value, after }: Bare): boolean {
  // `)`, `]`, `}` and `.` at the end belong to what is around it.
  const bare = value.replace(/[)\]}.|>:]+$/, '');
  const tight = separator === '=';
  if (bare.length < 4 || typeOrConstant.test(bare) || isPath(bare) || isVersion(bare) || isExpression(value, tight)) return false;
  if (!/^[A-Za-z_$][A-Za-z_$-]*$/.test(bare)) return true;
  // Letters only: a name in code, a word in prose, or a poor password. A tight `=` is a command line or an environment file.
  if (tight) return !/^[)\]},;]/.test(value.slice(bare.length) + after);
  return /passw|passphrase/i.test(word) && bare === value && /^[ \t]*(?:\r?\n|$)/.test(after);
}

function isPath(value: string): boolean {
  return /^(?:\.{1,2}|~)?\/(?:[a-z0-9_.-]+\/)+[a-z0-9_.-]+$/.test(value);
}

/** `^9.0.0`: packages have such words in their names. */
function isVersion(value: string): boolean {
  return /^[\^~<>=v]{0,3}\d{1,4}(?:\.[\dx*]{1,6}){1,3}(?:[-+][\w.]{1,30})?$/.test(value);
}

/** An expression of any common language: `call(…`, `name.other`, `list[0]`, `new X`, `() =>`. */
function isExpression(raw: string, tight: boolean): boolean {
  // `!done`, `*pointer`, `...rest`; a regular expression.
  const value = raw.replace(/^(?:!|\*|\.{3})/, '');
  if (/^\/[\^([\\]/.test(value)) return true;
  if (/^(?:[A-Za-z_$][\w$.:?]*[(<]|[A-Za-z_$][\w$.]*\?\.\[|new$|await$|func|function|async$|typeof$|[(=[]|\[\])/.test(value)) return true;
  if (/^(?:&(?:mut|str|'\w+)?$|[A-Za-z_$][\w$.]*\[$)/.test(value)) return true;
  if (/^[A-Za-z_$][\w$.]*\[(?:["'`]|\d+\]|[a-z]\w*\])/.test(value)) return /["'`]|\](?:$|[.;,)([!?])/.test(value);
  const dotted = /^([A-Za-z_$][A-Za-z_$]*)(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$!]*)+[;,)\]}]*$/.exec(value);
  return dotted !== null && (!tight || roots.test(dotted[1] ?? ''));
}

/** What a dotted name starts with where it stands behind a tight `=`: elsewhere it could be a password with a dot. */
const roots =
  /^(?:process|os|env|environ|config|cfg|conf|settings|self|this|ctx|context|req|request|res|response|args|argv|opts|options|props|params|secrets?|data|body|payload|state|var|vars|local|module|auth|user|session|account|client|credentials?|input|event|System|Deno|Bun)$/;
