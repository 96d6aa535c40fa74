/** `banksman init`: asks a person for what a cluster takes, tries it, and writes the machine's configuration. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SeenCertificate, TokenRights } from '#app/clusters/new-cluster';
import type { OtherNode } from '#app/clusters/try-cluster';
import type { ClusterConfig } from '#app/config/config';
import { addCluster, addProtected, loadConfigFile } from '#app/config/config-file';
import { defaultConfigFile } from '#app/config/paths';
import { serviceSocket } from '#app/config/service-config';
import type { App, ProtectionSuggestion } from '#kernel/app';
import { type Fault, toFault } from '#kernel/errors';
import { type JsonObject, wordOf } from '#kernel/json';
import { english } from '#kernel/text/message';
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
  const around = { known, terminal, signal };
  const { secret, ...asking } = await asked(around, clusters);
  const cluster = await tried(asking.cluster, secret, around);
  const name = wordOf(cluster['name']);
  const stored = await known.storeBeside(dirname(file), name, { kind: 'token', text: `${secret}\n` });
  try {
    await addCluster(file, { ...cluster, tokenFile: stored.file });
  } catch (thrown) {
    // Nobody needs it without the cluster.
    await stored.remove();
    throw thrown;
  }
  terminal.say(`\nwritten: the cluster ${name} into ${file}, its secret into ${stored.file}\n`);
  await withApp({}, (app, until) => protect(app, terminal, { file, signal: until }), quiet);
  terminal.say(
    '\nNext: `banksman call get_vms`; `banksman connect list` says which agents’ programs can have it; `banksman doctor` looks at all of it.\n',
  );
  return 0;
}

/** Of the log, what went wrong: the rest is said in this dialogue. */
const quiet = { log: { ...stderrLog, info: () => undefined } };

interface Around {
  readonly known: NewCluster;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

type Cluster = Pick<ClusterConfig, 'name' | 'endpoints'>;

async function asked(around: Around, clusters: readonly Cluster[]): Promise<{ readonly cluster: JsonObject; readonly secret: string }> {
  const { known, terminal } = around;
  const { usable, pins } = await reached(around, clusters);
  const endpoints = [...usable.keys()];
  const tokenId = await answer(() => terminal.ask('id of the API token (as ops@pve!banksman): '), known.checkTokenId, terminal);
  const secret = await answer(
    () => terminal.askSecret('its secret (not shown): '),
    (typed) => known.checkSecret(typed, tokenId),
    terminal,
  );
  const names = clusters.map(({ name }) => name);
  const name = known.nameFor(endpoints[0] ?? '', names);
  return { cluster: { name, endpoints, tokenId, ...known.pinning(usable, pins) }, secret };
}

const tries = 3;

/** @throws {Refusal} `bad_answer` after some tries, `cancelled` */
async function answer<T>(
  ask: () => Promise<string>,
  check: (typed: string) => { readonly value: T } | { readonly flaw: string },
  { say }: Terminal,
): Promise<T> {
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

function limited(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(lookMs)]);
}

/** Asks until a node of those that were named answers and is trusted. The others are said, and left out. @throws {Refusal} */
async function reached(around: Around, clusters: readonly Cluster[]): Promise<Trusted> {
  const { known, terminal } = around;
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const endpoints = await answer(
      () => terminal.ask('address of a node, or of several (as 10.0.0.11 or pve.lan): '),
      (typed) => known.checkAddresses(typed, clusters),
      terminal,
    );
    const found = await trusted(endpoints, around);
    if (found.usable.size > 0) return found;
    terminal.say(`none of them can be used: ${endpoints.join(', ')}\n\n`);
  }
  throw new Refusal('bad_answer', 'nothing was changed');
}

interface Trusted {
  readonly usable: ReadonlyMap<string, SeenCertificate>;
  /** What was said of all that were shown. */
  readonly pins: boolean;
}

/** Has each that answers trusted. */
async function trusted(endpoints: readonly string[], around: Around): Promise<Trusted> {
  const { known, terminal, signal } = around;
  const { checkProxmox } = await import('#app/clusters/try-cluster');
  const shownBy = await lookAtAll(endpoints, around);
  const pins = known.needPins(shownBy);
  const usable = new Map<string, SeenCertificate>();
  for (const [endpoint, shown] of shownBy) {
    await trust(endpoint, { ...shown, pins }, around);
    const failed = await checkProxmox(endpoint, pins ? shown.fingerprint : undefined, limited(signal)).catch(toFault);
    if (failed === undefined) usable.set(endpoint, shown);
    else sayLeftOut(failed, terminal);
  }
  if (usable.size > 0 && usable.size < endpoints.length)
    terminal.say(`going on with ${[...usable.keys()].join(', ')}; the others can be added to \`endpoints\` later\n`);
  return { usable, pins };
}

/** @returns those that answer @throws {Refusal} `cancelled` */
async function lookAtAll(endpoints: readonly string[], { known, terminal, signal }: Around): Promise<ReadonlyMap<string, SeenCertificate>> {
  terminal.say(`looking at ${endpoints.join(', ')}…\n`);
  const { seen, leftOut } = await known.lookAtCertificates(endpoints, limited(signal));
  if (signal.aborted) throw new Refusal('cancelled', 'cancelled; nothing was changed');
  for (const fault of leftOut) sayLeftOut(fault, terminal);
  return seen;
}

function sayLeftOut({ message, next }: Fault, terminal: Terminal): void {
  terminal.say(`left out: ${showPlainly(message, 500)}${next === undefined ? '' : `; ${showPlainly(next, 500)}`}\n`);
}

/** @throws {Refusal} `cancelled` */
async function trust(
  endpoint: string,
  { pins, isPublic, ...seen }: SeenCertificate & Pick<Trusted, 'pins'>,
  { known, terminal }: Around,
): Promise<void> {
  const line = (text: string) => showPlainly(text.replaceAll('\n', ', '), 200);
  terminal.say(
    `\n${endpoint} shows the certificate of ${line(seen.subject)}, made by ${line(seen.issuer)}, valid to ${line(seen.validTo)}:\n  ${seen.fingerprint}\n`,
  );
  if (isPublic) terminal.say('A public authority vouches for it and for this name.\n');
  terminal.say(
    pins
      ? `It is pinned. On the node ${known.showFingerprint} prints the same, or somebody is in between.\n`
      : 'It is not pinned, so that it can be renewed.\n',
  );
  await agreed(terminal, 'type `yes` to trust this certificate from now on: ');
}

/** Asks the cluster, as every call will, before anything is written. @returns the entry, with the other nodes that were added. @throws {Refusal} */
async function tried(entry: JsonObject, secret: string, { terminal, signal }: Around): Promise<JsonObject> {
  const { tryCluster } = await import('#app/clusters/try-cluster');
  terminal.say('\nasking the cluster…\n');
  const trial = await tryCluster(entry, secret, '/');
  try {
    const { message, rights } = await trial.look(limited(signal));
    terminal.say(`\n${showPlainly(english(message), 1_000)}\n`);
    sayMissing(rights, terminal);
    return await withOthers(entry, await trial.otherNodes(limited(signal)), { terminal, signal });
  } catch (thrown) {
    const { code, message, next } = toFault(thrown);
    throw new Refusal(code, `${showPlainly(message, 1_000)}; nothing was changed`, next);
  } finally {
    await trial.close();
  }
}

function sayMissing({ lacks, commands }: TokenRights, terminal: Terminal): void {
  if (lacks.length === 0) return;
  terminal.say('The token lacks rights for some tools (docs/rights.md says which):\n');
  for (const { group, missing } of lacks) terminal.say(`  ${showPlainly(`${group}: ${missing.join(', ')}`, 1_000)}\n`);
  terminal.say('For all of them, on a node (a token with separated privileges has what its user has as well, at most):\n');
  for (const line of commands) terminal.say(`  ${showPlainly(line, 4_000)}\n`);
}

async function withOthers(
  entry: JsonObject,
  others: readonly OtherNode[],
  { terminal, signal }: Pick<Around, 'terminal' | 'signal'>,
): Promise<JsonObject> {
  const there = others.filter(({ address, vouched }) => address !== undefined && vouched !== undefined);
  if (there.length === 0 || entry['tls'] === undefined) return entry;
  const { apiPort, lookAtNode, withNodes } = await import('#app/clusters/try-cluster');
  terminal.say('\nThe cluster has more nodes; with them it is reached while this one is down:\n');
  for (const { node, address, vouched } of there) terminal.say(`  ${showPlainly(`${node} (${address}): ${vouched}`, 300)}\n`);
  if ((await terminal.ask('type `yes` to look at them and add them, Enter to leave them out: ')).trim() !== 'yes') return entry;
  const found = await Promise.all(there.map((other) => lookAtNode(other, apiPort(entry), signal)));
  for (const { node, shows, note } of found) {
    const words = { same: 'shows that certificate: added', other: `left out: ${note}`, away: `added, though ${note}` }[shows];
    terminal.say(`  ${showPlainly(`${node} ${words}`, 500)}\n`);
  }
  return withNodes(entry, found);
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
  return showPlainly(`${kind} ${name}${called === undefined ? '' : ` (${called})`} ${english(why)}`, 300);
}
