/** Parsing the command line: one table of options, unknown ones refused by name. */
import { parseArgs } from 'node:util';
import { Fault } from '#kernel/errors';

interface CommandLine {
  /** `call`, `policy explain`, … and their operands. */
  readonly words: readonly string[];
  readonly options: CommandOptions;
}

export interface CommandOptions {
  readonly config?: string;
  readonly state?: string;
  readonly store?: string;
  readonly input?: string;
  readonly model?: string;
  readonly format?: string;
  readonly group?: string;
  readonly count?: string;
  readonly port?: string;
  readonly root?: string;
  readonly http?: string;
  readonly 'tls-cert'?: string;
  readonly 'tls-key'?: string;
  readonly 'allow-host'?: string[];
  readonly 'allow-origin'?: string[];
  readonly tier?: string;
  readonly expires?: string;
  readonly as?: string;
  readonly person?: string;
  readonly display?: string;
  readonly origin?: string;
  readonly code?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly status?: string;
  readonly search?: string;
  readonly output?: string;
  readonly expect?: string;
  readonly since?: string;
  readonly older?: string;
  readonly sign?: boolean;
  readonly all?: boolean;
  readonly 'set-aside'?: boolean;
  readonly user?: string[];
  readonly sockets?: string;
  readonly purge?: boolean;
  readonly sse?: boolean;
  readonly 'private-network'?: boolean;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly help?: boolean;
  readonly version?: boolean;
}

const options = {
  config: { type: 'string' },
  state: { type: 'string' },
  store: { type: 'string' },
  input: { type: 'string' },
  model: { type: 'string' },
  format: { type: 'string' },
  group: { type: 'string' },
  count: { type: 'string' },
  port: { type: 'string' },
  root: { type: 'string' },
  http: { type: 'string' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'allow-host': { type: 'string', multiple: true },
  'allow-origin': { type: 'string', multiple: true },
  tier: { type: 'string' },
  expires: { type: 'string' },
  as: { type: 'string' },
  person: { type: 'string' },
  display: { type: 'string' },
  origin: { type: 'string' },
  code: { type: 'string' },
  message: { type: 'string' },
  reason: { type: 'string' },
  status: { type: 'string' },
  search: { type: 'string' },
  output: { type: 'string' },
  expect: { type: 'string' },
  since: { type: 'string' },
  older: { type: 'string' },
  sign: { type: 'boolean' },
  all: { type: 'boolean' },
  'set-aside': { type: 'boolean' },
  user: { type: 'string', multiple: true },
  sockets: { type: 'string' },
  purge: { type: 'boolean' },
  sse: { type: 'boolean' },
  'private-network': { type: 'boolean' },
  json: { type: 'boolean' },
  verbose: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/** @throws {Fault} `bad_usage` */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
    return { words: positionals, options: values };
  } catch (thrown) {
    throw badUsage(thrown instanceof Error ? inOurWords(thrown) : 'bad arguments');
  }
}

/** Of `util.parseArgs`: its own advice is about positional arguments, which is seldom what went wrong. */
function inOurWords({ message }: Error): string {
  const option = /'(-[^\s']*)/.exec(message)?.[1];
  if (option === undefined) return message;
  if (/argument missing|argument is ambiguous/.test(message)) return `\`${option}\` needs a value`;
  if (/does not take an argument/.test(message)) return `\`${option}\` takes no value`;
  return `unknown option \`${option}\``;
}

export function badUsage(message: string, help = 'banksman --help'): Fault {
  return new Fault('bad_usage', message, { audience: 'user', next: `see \`${help}\`` });
}

/** A whole number in a range. @param name an option's, or an operand's in capitals. @throws {Fault} `bad_usage` */
export function wholeNumber(text: string, name: string, range: { readonly min: number; readonly max: number }): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= range.min && value <= range.max) return value;
  const word = name === name.toUpperCase() ? name : `--${name}`;
  throw badUsage(`\`${word}\` must be a whole number from ${range.min} to ${range.max}, not \`${text}\``);
}

/** Exactly these operands and no more. @throws {Fault} `bad_usage` */
export function operands(words: readonly string[], names: readonly string[]): readonly string[] {
  if (words.length < names.length) throw badUsage(`missing ${names.slice(words.length).join(', ')}`);
  if (words.length > names.length) throw badUsage(`unexpected \`${words[names.length]}\``);
  return words;
}

/** Goes on with what this command was given: the same configuration, state and store. Quoted for a POSIX shell. */
export function commandHint(words: readonly string[], { config, state, store }: CommandOptions): string {
  const places = Object.entries({ config, state, store }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  return ['banksman', ...words, ...places].map(shellWord).join(' ');
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
