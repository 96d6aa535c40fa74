/** `banksman init`: asks a person for what a cluster takes, tries it, and writes the machine's configuration. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ClusterConfig } from '#app/config/config';
import { addCluster, addProtected, loadConfigFile } from '#app/config/config-file';
import { defaultConfigFile, osUser } from '#app/config/paths';
import { serviceSocket } from '#app/config/service-config';
import { cliAgent } from '#app/for-hosts';
import type { App, ProtectionSuggestion } from '#kernel/app';
import { type JsonObject, wordOf } from '#kernel/json';
import { showPlainly } from '#kernel/text/text';
import { badUsage, type CommandOptions, operands } from '../command-line.ts';
import { Refusal, stderrLog } from '../output.ts';
import { untilStopped, withApp } from '../session.ts';
import { type Terminal, withTerminal } from '../terminal.ts';

/** Loaded when somebody is there to be asked: it brings what speaks with clusters. */
type NewCluster = typeof import('#app/clusters/new-cluster');

/** @returns 0 the cluster answers and is in the configuration */
export async function runInit(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  if ((options.config ?? options.state ?? options.store) !== undefined)
    throw badUsage('`init` writes the machine’s own configuration: leave `--config`, `--state` and `--store` out');
  if (serviceSocket() !== undefined)
    throw new Refusal('has_service', 'the service holds the configuration', 'root writes `clusters` into /etc/banksman/config.json');
  return untilStopped((signal) => withTerminal('setting up a cluster', signal, (terminal) => setUp(terminal, signal)));
}

async function setUp(terminal: Terminal, signal: AbortSignal): Promise<number> {
  const known = await import('#app/clusters/new-cluster');
  const file = defaultConfigFile();
  const { clusters } = await loadConfigFile(file, true);
  const names = clusters.map(({ name }) => name);
  if (existsSync(file)) {
    terminal.say(
      `${file} is there, with ${names.length === 0 ? 'no cluster' : `the clusters ${names.join(', ')}`}. One is added, all else stays.\n`,
    );
    await agreed(terminal, 'type `yes` to go on: ');
  }
  const { cluster, secret } = await asked(terminal, known, { clusters, signal });
  const stored = await known.storeSecret(dirname(file), wordOf(cluster['name']), secret);
  const entry = { ...cluster, tokenFile: stored.file };
  try {
    await tried(entry, terminal, known);
    await addCluster(file, entry);
  } catch (thrown) {
    // Nobody needs it without the cluster.
    await stored.remove();
    throw thrown;
  }
  terminal.say(`\nwritten: the cluster ${wordOf(cluster['name'])} into ${file}, its secret into ${stored.file}\n`);
  await withApp({}, (app, until) => protect(app, terminal, { file, signal: until }), quiet);
  terminal.say(
    '\nNext: `banksman call get_vms`; `banksman connect list` says which agents’ programs can have it; `banksman doctor` looks at all of it.\n',
  );
  return 0;
}

/** Of the log, what went wrong: the rest is said in this dialogue. */
const quiet = { log: { ...stderrLog, info: () => undefined } };

interface Around {
  /** The clusters that there are. */
  readonly clusters: readonly Pick<ClusterConfig, 'name' | 'endpoints'>[];
  readonly signal: AbortSignal;
}

async function asked(
  terminal: Terminal,
  known: NewCluster,
  { clusters, signal }: Around,
): Promise<{ readonly cluster: JsonObject; readonly secret: string }> {
  const free = (typed: string): ReturnType<NewCluster['checkAddress']> => {
    const found = known.checkAddress(typed);
    const there = 'value' in found ? clusters.find(({ endpoints }) => endpoints.includes(found.value)) : undefined;
    return there === undefined ? found : { flaw: `the cluster ${there.name} has it already` };
  };
  const endpoint = await answer(() => terminal.ask('address of a node (as 10.0.0.11 or pve.lan): '), free, terminal);
  const fingerprint = await pinned(endpoint, known, terminal, signal);
  const tokenId = await answer(() => terminal.ask('id of the API token (as ops@pve!banksman): '), known.checkTokenId, terminal);
  const names = clusters.map(({ name }) => name);
  const secret = await answer(
    () => terminal.askSecret('its secret (not shown): '),
    (typed) => known.checkSecret(typed, tokenId),
    terminal,
  );
  return { cluster: { name: known.nameFor(endpoint, names), endpoints: [endpoint], tokenId, tls: { fingerprint } }, secret };
}

const tries = 3;

/** @throws {Refusal} `bad_answer` after some tries, `cancelled` */
async function answer(
  ask: () => Promise<string>,
  check: (typed: string) => ReturnType<NewCluster['checkTokenId']>,
  { say }: Terminal,
): Promise<string> {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const found = check((await ask()).trim());
    if ('value' in found) return found.value;
    say(`that will not do: ${found.flaw}\n`);
  }
  throw new Refusal('bad_answer', 'nothing was changed');
}

/** @throws {Refusal} `cancelled` */
async function agreed(terminal: Terminal, question: string): Promise<void> {
  if ((await terminal.ask(question)).trim() !== 'yes') throw new Refusal('cancelled', 'cancelled; nothing was changed');
}

/** In ms. */
const lookMs = 15_000;

async function pinned(endpoint: string, known: NewCluster, terminal: Terminal, caller: AbortSignal): Promise<string> {
  const seen = await known.lookAtCertificate(endpoint, AbortSignal.any([caller, AbortSignal.timeout(lookMs)]));
  const line = (text: string) => showPlainly(text.replaceAll('\n', ', '), 200);
  terminal.say(
    `\n${endpoint} shows the certificate of ${line(seen.subject)}, made by ${line(seen.issuer)}, valid to ${line(seen.validTo)}:\n  ${seen.fingerprint}\n`,
  );
  terminal.say(`On the node ${known.showFingerprint} prints the same, or somebody is in between.\n`);
  await agreed(terminal, 'type `yes` to trust this certificate from now on: ');
  return seen.fingerprint;
}

/** Asks the cluster, as every call does, before anything is written. @throws {Refusal} `not_connected` */
async function tried(entry: JsonObject, terminal: Terminal, known: NewCluster): Promise<void> {
  const config = JSON.stringify({ clusters: [entry] });
  await withApp(
    { config },
    async (app, signal) => {
      const agent = cliAgent(osUser().username, app.config.defaultModelTier);
      const call = (tool: string) => app.call({ tool, input: {}, agent, signal, waitMs: 0 });
      const { status, message, next } = await call('get_cluster_status');
      if (status !== 'ok') throw new Refusal('not_connected', `${showPlainly(message, 1_000)}; nothing was changed`, next);
      terminal.say(`\n${showPlainly(message, 1_000)}\n`);
      const { lacks, commands } = known.missingRights((await call('get_permissions')).result, wordOf(entry['tokenId']));
      if (lacks.length === 0) return;
      terminal.say('The token lacks rights for some tools (docs/rights.md says which):\n');
      for (const line of lacks) terminal.say(`  ${showPlainly(line, 1_000)}\n`);
      terminal.say('For all of them, on a node (a token with separated privileges has what its user has as well, at most):\n');
      for (const line of commands) terminal.say(`  ${showPlainly(line, 4_000)}\n`);
    },
    quiet,
  );
}

async function protect(
  app: App,
  terminal: Terminal,
  { file, signal }: { readonly file: string; readonly signal: AbortSignal },
): Promise<void> {
  const waiting = (await app.agreement?.pending()) ?? [];
  if (waiting.length > 0) terminal.say('It counts once an approver agrees: `banksman config agree`.\n');
  const open = (await app.suggestions?.(AbortSignal.any([signal, AbortSignal.timeout(lookMs)]))) ?? [];
  if (open.length === 0) return;
  terminal.say('\nAgents should probably not touch these, and nothing protects them:\n');
  for (const one of open) terminal.say(`  ${inWords(one)}\n`);
  // The cluster is there already: who cancels here has still answered everything else.
  const typed = await terminal.ask('type `yes` to protect all of them, Enter for none: ').catch(() => '');
  const protects = typed.trim() === 'yes';
  if (protects) await addProtected(file, open);
  terminal.say(
    protects ? 'protected: agents are refused, whatever they say\n' : 'not protected; `banksman config protect` does it, one by one, too\n',
  );
}

function inWords({ kind, name, called, why }: ProtectionSuggestion): string {
  return showPlainly(`${kind} ${name}${called === undefined ? '' : ` (${called})`} ${why}`, 300);
}
