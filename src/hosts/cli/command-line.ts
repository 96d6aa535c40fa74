/** Parsing the command line: one table of options, unknown ones refused by name. */
import { parseArgs } from 'node:util';
import { Fault } from '#kernel/errors';
import { whyUnparsed } from '#kernel/text/parse-args';
import { showPlainly } from '#kernel/text/text';

interface CommandLine {
  /** `call`, `policy explain`, … and their operands. */
  readonly words: readonly string[];
  readonly options: CommandOptions;
}

interface Option {
  readonly type: 'string' | 'boolean';
  readonly multiple?: true;
  readonly short?: string;
  /** What it is for, a sentence without its end. */
  readonly help: string;
}

/** Every option there is; which command takes which, its usage says (`command-table.ts`). */
export const knownOptions = {
  config: { type: 'string', help: 'configuration: a JSON file, or a JSON object itself; default: $XDG_CONFIG_HOME/banksman/config.json' },
  state: { type: 'string', help: 'state directory; default: $XDG_STATE_HOME/banksman' },
  store: { type: 'string', help: 'sqlite:[FILE], valkeys://HOST:PORT/0?prefix=NAME, valkeys+sentinel://… or valkeys+cluster://…' },
  input: { type: 'string', help: 'the arguments as a JSON object; `-` reads them from standard input' },
  model: { type: 'string', help: 'the model that calls, which decides what it may do' },
  format: { type: 'string', help: 'the form of what is printed' },
  group: { type: 'string', help: 'only this group of tools' },
  count: { type: 'string', help: 'at most so many' },
  port: { type: 'string', help: 'the port to listen at; default: a free one' },
  root: { type: 'string', help: 'the folder that is the workspace' },
  http: { type: 'string', help: 'where to listen; a port alone is on loopback' },
  'tls-cert': { type: 'string', help: 'the certificate to serve with' },
  'tls-key': { type: 'string', help: 'its key' },
  'allow-host': { type: 'string', multiple: true, help: 'a name under which the server may be called' },
  'allow-origin': { type: 'string', multiple: true, help: 'an origin whose pages may call the server' },
  tier: { type: 'string', help: 'the tier of whoever comes with the token' },
  expires: { type: 'string', help: 'how long it counts, as 90d or 12h' },
  as: { type: 'string', help: 'the approver whose passphrase is asked for' },
  person: { type: 'string', help: 'whose key it is, where somebody has several' },
  display: { type: 'string', help: 'where the cards will be read: on a device outside this account, or in it' },
  origin: { type: 'string', help: 'the address of the page, as browsers see it' },
  code: { type: 'string', help: 'the one-time code that `approvals show` printed' },
  message: { type: 'string', help: 'what the model is told' },
  reason: { type: 'string', help: 'what agents are told' },
  status: { type: 'string', help: 'only requests of these statuses' },
  search: { type: 'string', help: 'only requests in which this text is found' },
  output: { type: 'string', help: 'a new file instead of standard output' },
  expect: { type: 'string', help: 'the record that must still be there' },
  since: { type: 'string', help: 'the checkpoint or export that the trail must go on from' },
  settings: { type: 'string', help: 'the edited settings: a JSON file as the configuration is, or a JSON object itself' },
  level: { type: 'string', help: 'as if this security level counted' },
  older: { type: 'string', help: 'only what is older, as 7d' },
  sign: { type: 'boolean', help: 'signs it with the key of an approver' },
  all: { type: 'boolean', help: 'all of them' },
  print: { type: 'boolean', help: 'prints what would be written, and writes nothing' },
  remove: { type: 'boolean', help: 'takes it out again' },
  'set-aside': { type: 'boolean', help: 'sets aside what is in the way' },
  user: { type: 'string', multiple: true, help: 'a user who gets a socket' },
  sockets: { type: 'string', help: 'the folder of the sockets' },
  purge: { type: 'boolean', help: 'removes what the service holds, too' },
  sse: { type: 'boolean', help: 'serves the older transport with two addresses, too' },
  'all-tools': {
    type: 'boolean',
    help: 'lists every tool, for clients that search their lists; else a short list, in which `more_tools` tells and runs the rest',
  },
  'private-network': { type: 'boolean', help: 'serves without a certificate on a network whose members are trusted' },
  network: { type: 'boolean', help: 'with the network, for which a person is asked' },
  timeout: { type: 'string', help: 'when to end it, in seconds' },
  stdin: { type: 'boolean', help: 'hands the command what comes in, which must be text' },
  managed: { type: 'boolean', help: 'for every user of the machine; of a hook: takes no places from its environment' },
  project: { type: 'boolean', help: 'for this project' },
  json: { type: 'boolean', help: 'prints JSON, for programs' },
  verbose: { type: 'boolean', help: 'tells how far a call is, where that is not shown by itself' },
  help: { type: 'boolean', short: 'h', help: 'says how the command is used' },
  version: { type: 'boolean', help: 'prints the version' },
} as const satisfies Readonly<Record<string, Option>>;

type Options = typeof knownOptions;
type ValueOf<O extends Option> = O extends { readonly multiple: true }
  ? string[]
  : O extends { readonly type: 'string' }
    ? string
    : boolean;

export type CommandOptions = { readonly [Name in keyof Options]?: ValueOf<Options[Name]> };

export interface CommandRecord {
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  /** Each way to call it, a line: verbs in small letters, what a person fills in in capitals, `[…]` what may be left out, `a|b` one of them. */
  readonly usage: readonly string[];
  /** More about it, for its own `--help`. */
  readonly notes?: string;
  /** Nothing that a command needs is loaded before the command is called (docs/adr/0038-quick-start.md). */
  readonly load: () => Promise<CommandRun>;
}

/** @returns the exit status */
export type CommandRun = (words: readonly string[], options: CommandOptions) => number | Promise<number>;

/** Those that say nothing about one command, `--json` among them: some commands print for programs always. */
export const everywhere = ['config', 'state', 'store', 'json', 'help', 'version'];

/** The options that a command takes, as its usage says, and those that every command takes. */
export function optionsOf({ usage }: CommandRecord): ReadonlySet<string> {
  return new Set([...everywhere, ...Array.from(usage.join(' ').matchAll(/--([a-z-]+)/g), ([, option = '']) => option)]);
}

/** `--user` of `hook install` names nobody. @throws {Fault} `bad_usage` */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  try {
    const { values, positionals } = parseArgs({
      args: argv[0] === 'hook' ? argv.map((word) => (word === '--user' ? '--user=' : word)) : [...argv],
      options: knownOptions,
      allowPositionals: true,
      strict: true,
    });
    return { words: positionals, options: values };
  } catch (thrown) {
    throw badUsage(whyUnparsed(thrown));
  }
}

/** @param next left out: whoever ran the command is sent to its usage */
export function badUsage(message: string, next?: string): Fault {
  return new Fault('bad_usage', message, { audience: 'user', ...(next === undefined ? {} : { next }) });
}

/** Of a command that takes one of these words first. */
export function noSuchVerb(command: string, verbs: readonly string[], given = ''): Fault {
  const named = verbs.map((verb) => `\`${verb}\``);
  const not = given === '' ? '' : `, not \`${showPlainly(given, 40)}\``;
  return badUsage(`\`${command}\` takes ${named.slice(0, -1).join(', ')} or ${named.at(-1)}${not}`);
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
