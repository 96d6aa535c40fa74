/** The commands, each as one record: usage, completions and the manual page come from it, and its code is loaded when it is called. */
import type { CommandRecord } from './command-line.ts';

/** Of a command that parses little of each kind and ends. */
async function quickly<Command>(load: () => Promise<Command>): Promise<Command> {
  await import('#kernel/without-eval');
  return load();
}

export const commands: readonly CommandRecord[] = [
  {
    name: 'tools',
    summary: 'Prints the catalog of tools.',
    load: async () => (await import('./commands/tools.ts')).runTools,
    usage: ['tools [--format json|mcp|ollama] [--group cluster|workspace|security]'],
    notes: 'A table at a terminal; JSON into a pipe, with `--format` and with `--json`.',
  },
  {
    name: 'call',
    summary: 'Makes one call, through the same policy, gate and trail as every agent.',
    load: async () => (await quickly(() => import('./commands/call.ts'))).runCall,
    usage: ['call TOOL --input JSON|- [--model NAME] [--json] [--verbose]'],
    notes: `The input is a JSON object; \`-\` reads it from standard input. At a terminal what was found is shown as tables, cut to its width;
into a pipe it goes as JSON below a line of text, and with \`--json\` all of it is JSON. How far a call is, and what a command prints on the way, is shown on a
terminal, and elsewhere with \`--verbose\`. Exit status: 0 ok, 1 error, 2 denied, 3 pending.`,
  },
  {
    name: 'run',
    summary: 'Runs a command in the sandbox; what it changed is judged, and can be undone.',
    load: async () => (await import('./commands/run.ts')).runRun,
    usage: ['run [--network] [--timeout SECONDS] [--stdin] [--model NAME] [--json] [--verbose] -- COMMAND…'],
    notes: `As agents' \`run_command\`, from any shell: only the workspace (the current directory) can be written, and what changed there is looked at
before it counts. One word is a line for bash (\`banksman run -- 'npm test | tail'\`), several are a program and its arguments. Its output and exit
status are the command's; what was changed, held for a person and how to undo it stands on standard error. \`--network\` asks a person, unless the
level is relaxed. \`--stdin\` hands it what comes in, which must be text; else it gets nothing to read. Exit status: the command's own; 124 its time was over, 125 it could not
be run, or ended well and nothing that it changed was kept, 126 refused or waiting for a person, 130 interrupted. Below the tier advanced (of \`--model\`, else of
\`hooks.modelTier\` or \`defaultModelTier\` in the configuration) it may only look, and what it changes is dropped.`,
  },
  {
    name: 'hook',
    summary: 'Judges what a coding agent is about to do with its own tools.',
    load: async () => (await import('./commands/hook.ts')).runHook,
    usage: [
      'hook AGENT [--managed]',
      'hook install AGENT --managed|--user|--project',
      'hook uninstall AGENT --managed|--user|--project',
      'hook serve SOCKET',
    ],
    notes: `AGENT is claude-code, codex, copilot, gemini, qwen, opencode, cursor or vscode. The agent's own JSON comes in, a refusal in its own form goes out; silence lets the
agent go on. Whatever goes wrong ends with 2 and the reason, which refuses. \`install\` writes the hook into the agent's own configuration: below /etc (\`--managed\`, which holds), for this user, or
for the project in the current directory; \`uninstall\` takes it out. Both show the difference and need a terminal. \`serve\` is the process behind it, which the first hook starts and which
ends by itself.`,
  },
  {
    name: 'policy',
    summary: 'Says what would happen to a call, or checks many at once, and does nothing.',
    load: async () => (await import('./commands/policy.ts')).runPolicy,
    usage: [
      'policy check [--root DIR]        (JSON Lines in, JSON Lines out)',
      'policy explain TOOL --input JSON [--model NAME] [--level LEVEL] [--json]',
      'policy replay --settings FILE [--since TIME] [--json]',
    ],
    notes: `\`replay\` decides the recorded calls again, by the settings that count and by those in FILE (the deciding keys of a configuration; a key that is
not there has its default; beside them \`autoApprove\`, a list of patterns and actions), and says what would change before anything is saved: what becomes
looser first, with its reasons, and what cannot be replayed. \`--since\` is a day, a time or an age (2026-11-01, 7d, 12h). Rules that would have saved
questions are suggested, each with what else it lets through. Exit status: 0 nothing becomes looser, 3 something does, 1 error (a tampered trail, too).`,
  },
  {
    name: 'approvals',
    summary: 'Lists, shows and answers what waits for a person.',
    load: async () => (await quickly(() => import('./commands/approvals.ts'))).runApprovals,
    usage: [
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
  {
    name: 'plans',
    summary: 'Lists and shows plans of several steps, and holds or ends one.',
    load: async () => (await import('./commands/plans.ts')).runPlans,
    usage: [
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
  {
    name: 'attempts',
    summary: 'Lists calls that began and of which nobody knows the end.',
    load: async () => (await import('./commands/attempts.ts')).runAttempts,
    usage: ['attempts list [--json]', 'attempts seen CALL [--json]'],
    notes: `Calls that began and have no end yet: \`unknown\` ones first, whose process ended before it said what came of them and where nobody could
find out. \`seen\` needs a terminal: the call is said first no more (here, in \`doctor\`, in the editor), and the trail keeps it.`,
  },
  {
    name: 'approvers',
    summary: 'Makes, pins and revokes the keys that approvals are signed with.',
    load: async () => (await import('./commands/approvers.ts')).runApprovers,
    usage: [
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
  {
    name: 'init',
    summary: 'Sets up a cluster: asks, tries it, and writes the configuration.',
    load: async () => (await import('./commands/init.ts')).runInit,
    usage: ['init'],
    notes: `Asks at a terminal for a node's address, whether its certificate is the right one (which is then pinned), the API token's id and its secret,
which is not shown and goes into a file of its own beside the configuration. Nothing is written before the cluster has answered; a configuration
that is there keeps all it has and gets the cluster in addition.`,
  },
  {
    name: 'config',
    summary:
      "Shows what of the machine's configuration waits for a person, agrees to it, protects what agents should not touch, and says what may stand in it.",
    load: async () => (await import('./commands/config.ts')).runConfig,
    usage: [
      'config show [--json]',
      'config agree [--as NAME] [--json]',
      'config protect [all|guest:VMID|node:NAME …] [--json]',
      'config schema',
    ],
    notes: `What makes the machine's configuration looser (one more approver, a protected resource less, another cluster endpoint, a lower level)
counts only after an approver agreed to that very difference; until then the old values stay in force. \`show\` says what waits (exit status 3).
\`agree\` shows it, and needs a terminal and the passphrase of an approver who counts already. \`protect\` lists what looks as if agents should not
touch it and is not protected (exit status 3): gateways, DNS servers, storage servers, this machine; what is named is written into \`protected\`. \`schema\` prints a JSON
Schema of the file, for editors: name it in the file's \`$schema\`.`,
  },
  {
    name: 'level',
    summary: 'Shows or sets the security level.',
    load: async () => (await import('./commands/level.ts')).runLevel,
    usage: ['level get [--json]', 'level set relaxed|balanced|strict [--as NAME] [--json]'],
    notes: 'Setting it needs a terminal and an approver’s passphrase; it counts for everyone on the same store.',
  },
  {
    name: 'pause',
    summary: 'Refuses agents everything that changes anything.',
    load: async () => (await import('./commands/level.ts')).runPause,
    usage: ['pause [--reason TEXT] [--json]'],
    notes: `Every agent on the same store, through every host and process, is refused what changes anything, from its next call on; what runs
already goes on to its end. Anybody of the account may pause; \`resume\` lifts it.`,
  },
  {
    name: 'resume',
    summary: 'Lifts a pause.',
    load: async () => (await import('./commands/level.ts')).runResume,
    usage: ['resume [--as NAME] [--json]'],
    notes: 'Lifts a pause. It needs a terminal and an approver’s passphrase, as everything does that makes something looser.',
  },
  {
    name: 'auto-approve',
    summary: 'Lists, sets and removes rules that settle questions without a person.',
    load: async () => (await import('./commands/level.ts')).runAutoApprove,
    usage: [
      'auto-approve list [--json]',
      'auto-approve set PATTERN allow|prompt|block [--expires 8h] [--as NAME] [--json]',
      'auto-approve remove PATTERN [--as NAME] [--json]',
    ],
    notes: `PATTERN is \`destination:HOST\`, \`destination:.DOMAIN\` (and what is below it), \`tool:NAME\` or \`tool:NAME:GLOB\` for its target.
Rules settle yellow calls and destinations; never a red one, a protected target or a forbidden one. Every rule ends: after 8 hours where
nothing is said, after 30 days at most. Changing one needs a terminal and an approver's passphrase.`,
  },
  {
    name: 'audit',
    summary: 'Reads, verifies, proves and exports the trail.',
    load: async () => (await import('./commands/audit.ts')).runAudit,
    usage: [
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
\`checkpoint\` prints one, signed by the key of the log that \`key\` shows; \`prove\` prints a proof that RECORD (its number, or its \`hash\`) is in the
trail, or that the trail goes on from a checkpoint: docs/check-proof.mjs checks it without Banksman. \`witness\` sends a checkpoint to
the configuration's \`witnesses\` now; processes that stay do it by themselves. \`tiles\` writes
checkpoint, tiles and entries as static files (https://c2sp.org/tlog-tiles), or adds to those that are there. \`export\` writes the trail as JSON Lines; its last line says how many records there are and where the chain ends, and with \`--sign\`
holds an approver's signature of that. \`verify FILE\` checks an export anywhere. Exit status of verify: 0 whole, 1 broken.`,
  },
  {
    name: 'witness',
    summary: 'Cosigns the checkpoints of trails elsewhere.',
    load: async () => (await import('./commands/witness.ts')).runWitness,
    usage: [
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
  {
    name: 'runs',
    summary: "Shows what agents' commands changed in the workspace, and takes it back.",
    load: async () => (await import('./commands/runs.ts')).runRuns,
    usage: ['runs list [--json]', 'runs show ID [--json]', 'runs undo ID [--set-aside] [--json]'],
    notes: `What agents' commands changed in the workspace of the current directory, newest first. \`undo\` brings back what was there before the run,
and is refused where something changed the same places since; with \`--set-aside\` what is there now is set aside in the journal.
A run that waits (\`held\`) changed nothing yet.`,
  },
  {
    name: 'store',
    summary: 'Backs up and restores the embedded store.',
    load: async () => (await import('./commands/store.ts')).runStore,
    usage: ['store backup FILE [--json]', 'store restore FILE [--json]', 'store accept'],
    notes: `Of the embedded store. \`backup\` writes a whole, verified copy while others work with it. \`restore\` puts one back: it needs a terminal, sets the
store that is there aside, and its trail says so; whoever holds a later checkpoint sees it. \`accept\` needs a terminal, too: a person says that a
trail which is not the one that was here is meant, or that a clock which jumped ahead is right, so that what is old by it may go.`,
  },
  {
    name: 'sandbox',
    summary: "Counts and removes agents' own directories.",
    load: async () => (await import('./commands/sandbox.ts')).runSandbox,
    usage: ['sandbox stats [--json]', 'sandbox clean [--all] [--json]'],
  },
  {
    name: 'top',
    summary: 'Shows clusters, agents and what waits for a person, live.',
    load: async () => (await import('./commands/top.ts')).runTop,
    usage: ['top'],
    notes: `Needs a terminal. Arrows (or j and k) choose a request; Enter shows its card, \`a\` approves and \`d\` denies it: that is \`banksman approvals\`, which asks for the one-time code and an
approver's passphrase as ever. \`q\` leaves. Clusters are looked at every ten seconds; requests are there at once.`,
  },
  {
    name: 'doctor',
    summary: 'Looks whether all that is configured can be reached and used.',
    load: async () => (await import('./commands/doctor.ts')).runDoctor,
    usage: ['doctor [--json]'],
  },
  {
    name: 'demo',
    summary: 'Runs the embedded demo cluster on loopback.',
    load: async () => (await import('./commands/demo.ts')).runDemo,
    usage: ['demo [--port N]'],
  },
  {
    name: 'mcp',
    summary: 'Serves MCP over stdio.',
    load: async () => (await import('./commands/serve.ts')).runMcp,
    usage: ['mcp [--all-tools] [--root DIR]'],
  },
  {
    name: 'connect',
    summary: "Writes this server into an MCP client's own configuration, or takes it out again.",
    load: async () => (await import('./commands/connect.ts')).runConnect,
    usage: ['connect list [--json]', 'connect CLIENT [--project] [--root DIR] [--print | --remove]'],
    notes: `Shows the difference and asks first, so it needs a terminal; \`--print\` prints the entry for whoever writes it by hand. Everything else in the file stays as it is, comments
included. \`--project\` means the client's file in this folder instead of yours. \`--root\` names the folder to work in, for clients that start servers anywhere.`,
  },
  {
    name: 'page',
    summary: 'Serves the page on which people approve with a passkey.',
    load: async () => (await import('./commands/page.ts')).runPage,
    usage: ['page'],
    notes: `Serves the page on which people approve with a passkey, as \`page\` of the configuration says, until stopped. The service serves it itself.`,
  },
  {
    name: 'serve',
    summary: 'Serves MCP over HTTP.',
    load: async () => (await import('./commands/serve.ts')).runServe,
    usage: [
      'serve --http HOST:PORT [--sse] [--all-tools] [--tls-cert FILE --tls-key FILE | --private-network] [--allow-host NAME]… [--allow-origin ORIGIN]…',
    ],
    notes: `Beyond loopback a certificate is needed, or \`--private-network\`: then everybody on that network is trusted not to read along or
to change what passes, and peers with a public address are refused. Tokens are needed either way.`,
  },
  {
    name: 'service',
    summary: 'Installs and runs the service that holds clusters, approvers and the trail apart from users.',
    load: async () => (await import('./commands/service.ts')).runService,
    usage: [
      'service install [--user NAME]…',
      'service status [--sockets DIR]',
      'service uninstall [--purge]',
      'service run [--user NAME]… [--sockets DIR]',
    ],
    notes: `For root, on Linux. Clusters, approvers, requests and the trail leave the users' accounts: a user of its own holds them, and each
\`--user\` comes through a socket that is theirs. \`install\` again is an upgrade. \`run\` without systemd: as root it opens the sockets and
starts the service as the user that owns the state directory. The configuration is /etc/banksman/config.json, root's own.`,
  },
  {
    name: 'tokens',
    summary: 'Makes and revokes the tokens of MCP over HTTP.',
    load: async () => (await import('./commands/tokens.ts')).runTokens,
    usage: [
      'tokens list [--json]',
      'tokens create NAME [--tier basic|intermediate|advanced] [--expires 90d|12h|never] [--json]',
      'tokens revoke NAME',
    ],
  },
  {
    name: 'completions',
    summary: 'Prints the completions of this command for a shell.',
    load: async () => (await import('./completions.ts')).completionsOf(commands),
    usage: ['completions bash|zsh|fish'],
    notes:
      'For this shell: `source <(banksman completions bash)`, in zsh (behind `compinit`) `source <(banksman completions zsh)`, in fish `banksman completions fish | source`.',
  },
  {
    name: 'man',
    summary: 'Prints the manual page.',
    load: async () => (await import('./completions.ts')).manOf(commands),
    usage: ['man'],
    notes: 'To read it: `banksman man | man -l -`.',
  },
];
