/** What the command line takes. */

const general = `Every command takes
  --config FILE   configuration (JSON; a JSON object itself is taken, too); default: $XDG_CONFIG_HOME/banksman/config.json
  --state DIR     state directory; default: $XDG_STATE_HOME/banksman
  --store URL     sqlite:[FILE], valkey://HOST:PORT/DB?prefix=NAME, valkeys://…
  --help, --version
`;

interface CommandUsage {
  readonly lines: readonly string[];
  /** More about it, for its own `--help`. */
  readonly notes?: string;
}

const commands: ReadonlyMap<string, CommandUsage> = new Map<string, CommandUsage>([
  ['tools', { lines: ['tools [--format json|mcp|ollama] [--group cluster|workspace|security]'] }],
  [
    'call',
    {
      lines: ['call TOOL --input JSON|- [--model NAME] [--json] [--verbose]'],
      notes: `The input is a JSON object; \`-\` reads it from standard input. How far a call is, and what a command prints on the way, is shown on a
terminal, and elsewhere with \`--verbose\`. Exit status: 0 ok, 1 error, 2 denied, 3 pending.`,
    },
  ],
  [
    'policy',
    {
      lines: [
        'policy check [--root DIR]        (JSON Lines in, JSON Lines out)',
        'policy explain TOOL --input JSON [--model NAME] [--json]',
      ],
    },
  ],
  [
    'approvals',
    {
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
    'approvers',
    {
      lines: ['approvers list [--json]', 'approvers create NAME [--as NAME] [--json]', 'approvers revoke NAME|KEYID [--as NAME] [--json]'],
      notes: `An approver is a key that counts on this machine. \`create\` makes one, locks it with a passphrase and pins it in the machine's
configuration. Once any is pinned, another one is pinned or revoked only with the passphrase of one that is (\`--as\` says whose).`,
    },
  ],
  [
    'level',
    {
      lines: ['level get [--json]', 'level set relaxed|balanced|strict [--as NAME] [--json]'],
      notes: 'Setting it needs a terminal and an approver’s passphrase; it counts for everyone on the same store.',
    },
  ],
  [
    'auto-approve',
    {
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
      lines: [
        'audit tail [--count N] [--json]',
        'audit verify [--expect SEQUENCE:HASH] [--since EXPORT] [--json]',
        'audit verify FILE [--json]',
        'audit export [--format jsonl] [--output FILE] [--sign [--as NAME]]',
      ],
      notes: `\`verify\` also prints the newest record as SEQUENCE:HASH. Kept where nobody who can write to the store can change it, it
shows with \`--expect\` that the trail still goes on from there: a rewritten trail and an older copy are whole in themselves. \`--since\`
compares with an export likewise, also where the store is shared. \`export\` writes the trail as JSON Lines; its last line says how many records there are and where the chain ends, and with \`--sign\`
holds an approver's signature of that. \`verify FILE\` checks an export anywhere. Exit status of verify: 0 whole, 1 broken.`,
    },
  ],
  [
    'runs',
    {
      lines: ['runs list [--json]', 'runs show ID [--json]', 'runs undo ID [--set-aside] [--json]'],
      notes: `What agents' commands changed in the workspace of the current directory, newest first. \`undo\` brings back what was there before the run,
and is refused where something changed the same places since; with \`--set-aside\` what is there now is set aside in the journal.
A run that waits (\`held\`) changed nothing yet.`,
    },
  ],
  ['sandbox', { lines: ['sandbox stats [--json]', 'sandbox clean [--all] [--json]'] }],
  ['doctor', { lines: ['doctor [--json]'] }],
  ['demo', { lines: ['demo [--port N]'] }],
  ['mcp', { lines: ['mcp'] }],
  ['serve', { lines: ['serve --http HOST:PORT [--sse] [--tls-cert FILE --tls-key FILE] [--allow-host NAME]… [--allow-origin ORIGIN]…'] }],
  [
    'tokens',
    {
      lines: [
        'tokens list [--json]',
        'tokens create NAME [--tier basic|intermediate|advanced] [--expires 90d|12h|never] [--json]',
        'tokens revoke NAME',
      ],
    },
  ],
]);

/** Of one command, or of all where there is none of that name. */
export function usageOf(name: string | undefined): string {
  const one = commands.get(name ?? '');
  if (one === undefined) return all();
  return [...lines(one), ...(one.notes === undefined ? [] : ['', one.notes]), '', general].join('\n');
}

function all(): string {
  const list = [...commands.values()].flatMap(lines);
  const exit = 'Exit status: 0 ok, 1 error, 2 denied or refused, 3 pending. `banksman COMMAND --help` says more.\n';
  return ['banksman: the agent tool layer for Proxmox VE clusters and code', '', ...list, '', general, exit].join('\n');
}

function lines({ lines: usages }: CommandUsage): readonly string[] {
  return usages.map((usage) => `  banksman ${usage}`);
}

/** Those that say nothing about one command, `--json` among them: some commands print for programs always. */
const everywhere = new Set(['config', 'state', 'store', 'json', 'help', 'version']);

/** The options that a command takes besides those of every command, as its usage says. */
export function optionsOf(name: string): ReadonlySet<string> {
  const text = commands.get(name)?.lines.join(' ') ?? '';
  return new Set([...everywhere, ...Array.from(text.matchAll(/--([a-z-]+)/g), ([, option = '']) => option)]);
}
