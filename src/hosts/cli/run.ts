/** The command line: the commands, by name, with what each takes. */
import { version } from '#app/for-hosts';
import { toFault } from '#kernel/errors';
import { badUsage, type CommandOptions, parseCommandLine } from './command-line.ts';
import { runApprovals } from './commands/approvals.ts';
import { runApprovers } from './commands/approvers.ts';
import { runAttempts } from './commands/attempts.ts';
import { runAudit } from './commands/audit.ts';
import { runCall } from './commands/call.ts';
import { runConfig } from './commands/config.ts';
import { runDemo } from './commands/demo.ts';
import { runDoctor } from './commands/doctor.ts';
import { runAutoApprove, runLevel, runPause, runResume } from './commands/level.ts';
import { runMcp } from './commands/mcp.ts';
import { runPage } from './commands/page.ts';
import { runPlans } from './commands/plans.ts';
import { runPolicy } from './commands/policy.ts';
import { runRuns } from './commands/runs.ts';
import { runSandbox } from './commands/sandbox.ts';
import { runServe } from './commands/serve.ts';
import { runService } from './commands/service.ts';
import { runStore } from './commands/store.ts';
import { runTokens } from './commands/tokens.ts';
import { runTools } from './commands/tools.ts';
import { runWitness } from './commands/witness.ts';
import { printError, printText, Refusal } from './output.ts';

const general = `Every command takes
  --config FILE   configuration (JSON; a JSON object itself is taken, too); default: $XDG_CONFIG_HOME/banksman/config.json
  --state DIR     state directory; default: $XDG_STATE_HOME/banksman
  --store URL     sqlite:[FILE], valkeys://HOST:PORT/0?prefix=NAME, valkeys+sentinel://…, valkeys+cluster://…
  --help, --version
`;

/** One command: what it takes, and what it does. */
interface Command {
  readonly run: (words: readonly string[], options: CommandOptions) => number | Promise<number>;
  readonly lines: readonly string[];
  /** More about it, for its own `--help`. */
  readonly notes?: string;
}

const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['tools', { run: runTools, lines: ['tools [--format json|mcp|ollama] [--group cluster|workspace|security]'] }],
  [
    'call',
    {
      run: runCall,
      lines: ['call TOOL --input JSON|- [--model NAME] [--json] [--verbose]'],
      notes: `The input is a JSON object; \`-\` reads it from standard input. How far a call is, and what a command prints on the way, is shown on a
terminal, and elsewhere with \`--verbose\`. Exit status: 0 ok, 1 error, 2 denied, 3 pending.`,
    },
  ],
  [
    'policy',
    {
      run: runPolicy,
      lines: [
        'policy check [--root DIR]        (JSON Lines in, JSON Lines out)',
        'policy explain TOOL --input JSON [--model NAME] [--json]',
      ],
    },
  ],
  [
    'approvals',
    {
      run: runApprovals,
      lines: [
        'approvals list [--all | --status STATUS,…] [--search TEXT] [--count N] [--json]',
        'approvals show ID [--json]',
        'approvals approve ID [--code CODE] [--as NAME] [--json]',
        'approvals deny ID [--message TEXT] [--json]',
        'approvals revoke ID [--message TEXT] [--json]',
        'approvals watch [--json]',
      ],
      notes: `For people. \`--search\` looks for TEXT, whatever its case, in id, title, tool, agent, model and target.
\`show\` prints what would happen and, on a terminal, a one-time code for \`approve\`: good for ten minutes, once, for exactly
what was shown. \`approve\` also asks for an approver's passphrase, on the terminal and nowhere else. \`deny\` and \`revoke\` need a terminal
and no passphrase: they can only stop something. A denial's message reaches the model.
Exit status: 0 done, 1 error, 2 refused.`,
    },
  ],
  [
    'plans',
    {
      run: runPlans,
      lines: [
        'plans list [--json]',
        'plans show ID [--json]',
        'plans strike ID STEPS [--json]',
        'plans pause ID [--json]',
        'plans resume ID [--as NAME] [--json]',
        'plans stop ID [--json]',
        'plans clean [--older 7d] [--json]',
      ],
      notes: `A plan is approved like any request: \`approvals show\`, \`approvals approve\`. \`strike\` makes the same plan without some steps
(\`3,5\`) before anybody has approved it: it is rehearsed anew, and is a question of its own. \`pause\` and \`stop\` count from the next step on, in
whatever process the plan runs; \`resume\` needs a terminal and an approver’s passphrase. \`clean\` proposes a plan that deletes the snapshots that plans took as ways back and that
are older (seven days where nothing is said).`,
    },
  ],
  [
    'attempts',
    {
      run: runAttempts,
      lines: ['attempts list [--json]', 'attempts seen CALL [--json]'],
      notes: `Calls that began and have no end yet: \`unknown\` ones first, whose process ended before it said what came of them and where nobody could
find out. \`seen\` needs a terminal: the call is said first no more (here, in \`doctor\`, in the editor), and the trail keeps it.`,
    },
  ],
  [
    'approvers',
    {
      run: runApprovers,
      lines: [
        'approvers list [--json]',
        'approvers create NAME [--as NAME] [--json]',
        'approvers enroll NAME --display outside|same-account [--origin URL] [--person NAME] [--as NAME] [--json]',
        'approvers revoke NAME|KEYID [--as NAME] [--json]',
      ],
      notes: `An approver is a key that counts on this machine. \`create\` makes one, locks it with a passphrase and pins it in the machine's
configuration. Once any is pinned, another one is pinned or revoked only with the passphrase of one that is (\`--as\` says whose).
\`enroll\` pins a passkey: it prints a link that is good once, for ten minutes, and waits until the page and this terminal show one fingerprint.
\`--display\` says where its cards will be read. \`--person\` says whose it is, where somebody has several.`,
    },
  ],
  [
    'config',
    {
      run: runConfig,
      lines: ['config show [--json]', 'config agree [--as NAME] [--json]'],
      notes: `What makes the machine's configuration looser (one more approver, a protected resource less, another cluster endpoint, a lower level)
counts only after an approver agreed to that very difference; until then the old values stay in force. \`show\` says what waits (exit status 3).
\`agree\` shows it, and needs a terminal and the passphrase of an approver who counts already.`,
    },
  ],
  [
    'level',
    {
      run: runLevel,
      lines: ['level get [--json]', 'level set relaxed|balanced|strict [--as NAME] [--json]'],
      notes: 'Setting it needs a terminal and an approver’s passphrase; it counts for everyone on the same store.',
    },
  ],
  [
    'pause',
    {
      run: runPause,
      lines: ['pause [--reason TEXT] [--json]'],
      notes: `Every agent on the same store, through every host and process, is refused what changes anything, from its next call on; what runs
already goes on to its end. Anybody of the account may pause; \`resume\` lifts it.`,
    },
  ],
  [
    'resume',
    {
      run: runResume,
      lines: ['resume [--as NAME] [--json]'],
      notes: 'Lifts a pause. It needs a terminal and an approver’s passphrase, as everything does that makes something looser.',
    },
  ],
  [
    'auto-approve',
    {
      run: runAutoApprove,
      lines: [
        'auto-approve list [--json]',
        'auto-approve set PATTERN allow|prompt|block [--expires 8h] [--as NAME] [--json]',
        'auto-approve remove PATTERN [--as NAME] [--json]',
      ],
      notes: `PATTERN is \`destination:HOST\`, \`destination:.DOMAIN\` (and what is below it), \`tool:NAME\` or \`tool:NAME:GLOB\` for its target.
Rules settle yellow calls and destinations; never a red one, a protected target or a forbidden one. Every rule ends: after 8 hours where
nothing is said, after 30 days at most. Changing one needs a terminal and an approver's passphrase.`,
    },
  ],
  [
    'audit',
    {
      run: runAudit,
      lines: [
        'audit tail [--count N] [--json]',
        'audit verify [--expect SEQUENCE:HASH] [--since CHECKPOINT|EXPORT] [--json]',
        'audit verify FILE [--json]',
        'audit checkpoint [--output FILE]',
        'audit prove RECORD | --since CHECKPOINT',
        'audit key',
        'audit witness [--json]',
        'audit tiles DIR [--json]',
        'audit export [--format jsonl] [--output FILE] [--sign [--as NAME]]',
      ],
      notes: `\`verify\` also prints the newest record as SEQUENCE:HASH. Kept where nobody who can write to the store can change it, it
shows with \`--expect\` that the trail still goes on from there: a rewritten trail and an older copy are whole in themselves. \`--since\`
compares with a checkpoint (a file, or its text), also after the records have left, or with an export, also where the store is shared.
\`checkpoint\` prints one, signed by the key of the log that \`key\` shows; \`prove\` prints a proof that RECORD (its number) is in the
trail, or that the trail goes on from a checkpoint: docs/check-proof.mjs checks it without Banksman. \`witness\` sends a checkpoint to
the configuration's \`witnesses\` now; processes that stay do it by themselves. \`tiles\` writes
checkpoint, tiles and entries as static files (https://c2sp.org/tlog-tiles), or adds to those that are there. \`export\` writes the trail as JSON Lines; its last line says how many records there are and where the chain ends, and with \`--sign\`
holds an approver's signature of that. \`verify FILE\` checks an export anywhere. Exit status of verify: 0 whole, 1 broken.`,
    },
  ],
  [
    'witness',
    {
      run: runWitness,
      lines: [
        'witness serve --http HOST:PORT',
        'witness add KEY [--json]',
        'witness remove ORIGIN',
        'witness list [--json]',
        'witness checkpoint ORIGIN',
        'witness key',
      ],
      notes: `A witness for the trails of others (https://c2sp.org/tlog-witness): it cosigns a log's checkpoint where it goes on from the last one.
\`add\` names a log by what \`banksman audit key\` shows there, and needs a terminal; there, \`witnesses\` of the configuration names this one by
its address and by what \`key\` shows. \`PORT\` alone is on loopback. \`checkpoint\` prints the last one that was cosigned, for
\`banksman audit verify --since\` where the log is. docs/witness.md says more.`,
    },
  ],
  [
    'runs',
    {
      run: runRuns,
      lines: ['runs list [--json]', 'runs show ID [--json]', 'runs undo ID [--set-aside] [--json]'],
      notes: `What agents' commands changed in the workspace of the current directory, newest first. \`undo\` brings back what was there before the run,
and is refused where something changed the same places since; with \`--set-aside\` what is there now is set aside in the journal.
A run that waits (\`held\`) changed nothing yet.`,
    },
  ],
  [
    'store',
    {
      run: runStore,
      lines: ['store backup FILE [--json]', 'store restore FILE [--json]', 'store accept'],
      notes: `Of the embedded store. \`backup\` writes a whole, verified copy while others work with it. \`restore\` puts one back: it needs a terminal, sets the
store that is there aside, and its trail says so; whoever holds a later checkpoint sees it. \`accept\` needs a terminal, too: a person says that a
trail which is not the one that was here is meant, or that a clock which jumped ahead is right, so that what is old by it may go.`,
    },
  ],
  ['sandbox', { run: runSandbox, lines: ['sandbox stats [--json]', 'sandbox clean [--all] [--json]'] }],
  ['doctor', { run: runDoctor, lines: ['doctor [--json]'] }],
  ['demo', { run: runDemo, lines: ['demo [--port N]'] }],
  ['mcp', { run: runMcp, lines: ['mcp'] }],
  [
    'page',
    {
      run: runPage,
      lines: ['page'],
      notes: `Serves the page on which people approve with a passkey, as \`page\` of the configuration says, until stopped. The service serves it itself.`,
    },
  ],
  [
    'serve',
    {
      run: runServe,
      lines: [
        'serve --http HOST:PORT [--sse] [--tls-cert FILE --tls-key FILE | --private-network] [--allow-host NAME]… [--allow-origin ORIGIN]…',
      ],
      notes: `Beyond loopback a certificate is needed, or \`--private-network\`: then everybody on that network is trusted not to read along or
to change what passes, and peers with a public address are refused. Tokens are needed either way.`,
    },
  ],
  [
    'service',
    {
      run: runService,
      lines: [
        'service install [--user NAME]…',
        'service status [--sockets DIR]',
        'service uninstall [--purge]',
        'service run [--user NAME]… [--sockets DIR]',
      ],
      notes: `For root, on Linux. Clusters, approvers, requests and the trail leave the users' accounts: a user of its own holds them, and each
\`--user\` comes through a socket that is theirs. \`install\` again is an upgrade. \`run\` without systemd: as root it opens the sockets and
starts the service as the user that owns the state directory. The configuration is /etc/banksman/config.json, root's own.`,
    },
  ],
  [
    'tokens',
    {
      run: runTokens,
      lines: [
        'tokens list [--json]',
        'tokens create NAME [--tier basic|intermediate|advanced] [--expires 90d|12h|never] [--json]',
        'tokens revoke NAME',
      ],
    },
  ],
]);

/** Of one command, or of all where there is none of that name. */
function usageOf(name: string | undefined): string {
  const one = commands.get(name ?? '');
  if (one === undefined) return all();
  return [...lines(one), ...(one.notes === undefined ? [] : ['', one.notes]), '', general].join('\n');
}

function all(): string {
  const list = [...commands.values()].flatMap(lines);
  const exit = 'Exit status: 0 ok, 1 error, 2 denied or refused, 3 pending. `banksman COMMAND --help` says more.\n';
  return ['banksman: the agent tool layer for Proxmox VE clusters and code', '', ...list, '', general, exit].join('\n');
}

function lines({ lines: usages }: Command): readonly string[] {
  return usages.map((usage) => `  banksman ${usage}`);
}

/** Those that say nothing about one command, `--json` among them: some commands print for programs always. */
const everywhere = new Set(['config', 'state', 'store', 'json', 'help', 'version']);

/** The options that a command takes besides those of every command, as its usage says. */
export function optionsOf(name: string): ReadonlySet<string> {
  const text = commands.get(name)?.lines.join(' ') ?? '';
  return new Set([...everywhere, ...Array.from(text.matchAll(/--([a-z-]+)/g), ([, option = '']) => option)]);
}

async function runCommand(argv: readonly string[]): Promise<number> {
  const { words, options } = parseCommandLine(argv);
  if (options.version) return say(version);
  const [name, ...rest] = words;
  if (options.help || name === undefined) return say(usageOf(name), options.help ? 0 : 1);
  const command = commands.get(name);
  if (command === undefined) throw badUsage(`no command is named \`${name}\`; there are ${[...commands.keys()].join(', ')}`);
  // An option that is taken and then ignored would be believed to have counted.
  const stray = Object.keys(options).find((option) => !optionsOf(name).has(option));
  if (stray !== undefined) throw badUsage(`\`${name}\` takes no \`--${stray}\``, `banksman ${name} --help`);
  return command.run(rest, options);
}

function say(text: string, status = 0): number {
  printText(text);
  return status;
}

/** Runs one command line. Sets the exit status and never rejects. */
export async function run(argv: readonly string[]): Promise<void> {
  process.stdout.once('error', leaveQuietly);
  try {
    process.exitCode = await runCommand(argv);
  } catch (thrown) {
    const fault = toFault(thrown);
    printError(`${fault.message}${fault.next === undefined ? '' : `; ${fault.next}`}`);
    process.exitCode = fault instanceof Refusal ? 2 : 1;
  }
}

/** Whoever read the output has gone (`| head`): there is nobody left to say anything to. */
function leaveQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') printError(`standard output: ${error.message}`);
  process.exit(1);
}
