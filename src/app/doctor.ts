/** `doctor`: what works here, what does not, and the remedy. Each probe is real; what one writes it takes away again. */

import { accessSync, constants, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { verifyTrail } from '#audit/verify-trail';
import type { EndpointCheck, ProxmoxClient } from '#connectors/proxmox/create-proxmox-client';
import { type Standing, successesToRestore } from '#identity/standing';
import type { Finding, SecuritySettings } from '#kernel/app';
import type { ApproverKey } from '#kernel/approval/answer';
import type { RunHistory, RunRecord } from '#kernel/effects';
import { Fault, faultMessage, toFault } from '#kernel/errors';
import type { CertificateKnown } from '#kernel/ports/cluster';
import type { SandboxStatus } from '#kernel/ports/command-runner';
import type { ToldElsewhere } from '#kernel/ports/sink';
import type { Store } from '#kernel/ports/store';
import { asIs, asListed, joined, type Message, plural, say } from '#kernel/text/message';
import { type AlarmParts, agreementFindings, type TrailWatch } from './alarms.ts';
import { type Attempts, openFindings, spoolFindings } from './attempts/attempts.ts';
import type { ConnectedClusters } from './clusters/connect-clusters.ts';
import { suggestionFindings } from './clusters/suggestions.ts';
import { lostTags } from './clusters/tag-memory.ts';
import type { ClusterConfig, Config } from './config/config.ts';
import type { Origin } from './config/config-agreement.ts';
import { expandPath } from './config/paths.ts';
import { limitFindings, protectedListOf, uselessTiers } from './config/policy-settings.ts';
import { failedFinding, finding } from './finding.ts';
import { approverFindings } from './people/approver-findings.ts';
import { snapshotFindings } from './plans/kept-snapshots.ts';
import { missingRemedy, missingWords } from './store/open-store.ts';
import { foreignFindings, openStoreFindings, roomFindings, securityFindings, timeFindings, writeFinding } from './store/store-findings.ts';
import type { TrailMemory } from './store/trail-memory.ts';
import { witnessFindings } from './witness/witnesses.ts';

export interface DoctorParts {
  /** Set where a service holds the rest, and says what there is to find of it. */
  readonly service?: unknown;
  readonly config: Config;
  readonly baseDir: string;
  readonly configFile: string;
  /** The file that `config` was read from, where it is another. */
  readonly namedConfigFile?: string;
  readonly stateDir: string;
  readonly workspaceBase?: string;
  readonly store: Store;
  readonly memory: TrailMemory;
  readonly sinks: Pick<ToldElsewhere, 'findings'>;
  readonly clusters: ConnectedClusters;
  trustedKeys(): Promise<readonly ApproverKey[]>;
  /** Absent where nobody but an administrator, or who named it, can write the configuration. */
  readonly origin?: Origin;
  readonly agreement: AlarmParts['agreement'];
  readonly trail: TrailWatch;
  readonly standing: Standing | undefined;
  readonly attempts: Pick<Attempts, 'ofPeople' | 'spool'>;
  readonly live: { readonly security: Pick<SecuritySettings, 'level' | 'rules'> };
  readonly sandbox: { refresh(): Promise<SandboxStatus> };
  history(): Promise<RunHistory | undefined>;
}

export async function doctor(parts: DoctorParts, signal: AbortSignal): Promise<readonly Finding[]> {
  if (parts.service !== undefined) return ofThisProcess(parts);
  const findings = await Promise.all([
    storeFindings(parts),
    approverFindings(parts),
    agreementFindings(parts),
    securityFindings(parts.live.security),
    parts.sinks.findings(),
    ...parts.config.clusters.map((cluster) => clusterFindings(cluster, parts, signal)),
    unseenProtected(parts, signal),
    suggestionFindings(parts.clusters, signal),
    lostTags(parts.clusters.configured, { ...parts.config, list: protectedListOf(parts.config.protected) }, signal),
  ]);
  const [node, ...here] = await ofThisProcess(parts);
  return [
    ...(await openFindings(parts.attempts.ofPeople)),
    ...(node === undefined ? [] : [node]),
    ...findings.flat(),
    ...noCluster(parts.config),
    ...protection(parts.config),
    ...(await snapshotFindings({ requests: parts.store.requests, clusters: parts.clusters.configured, signal }, Date.now())),
    ...(await limitFindings(parts.config, parts.store.audit)),
    ...loweredAgents(parts.standing),
    ...uselessTiers(parts.config),
    ...here,
  ];
}

/** Of the tools that run with the user, whoever keeps the records. */
async function ofThisProcess(parts: DoctorParts): Promise<readonly Finding[]> {
  const sandbox = await parts.sandbox.refresh();
  return [
    nodeFinding(),
    ...spoolFindings(parts.attempts),
    ...embeddedFinding(parts),
    ...viewFindings(sandbox),
    ...(await journalFindings(parts)),
    sandboxFinding(sandbox, parts.config.workspace.requireSandbox),
  ];
}

const sandboxWords: Readonly<Record<SandboxStatus['state'], Message>> = {
  enforced: say`enforced`,
  degraded: say`degraded`,
  unavailable: say`unavailable`,
};

/** @param required `workspace.requireSandbox`: without an enforced sandbox no command runs at all */
export function sandboxFinding(status: SandboxStatus, required: boolean): Finding {
  const message = say`${sandboxWords[status.state]}: ${asListed(status.reason)}`;
  if (status.state === 'enforced') return finding('sandbox', 'ok', message);
  if (status.noWorkspace === true) {
    const remedy = say`run_command is refused until there is one: open a folder, or set \`workspace.root\`; the cluster tools need none`;
    return finding('sandbox', 'warning', message, remedy);
  }
  const remedy = required
    ? say`no command runs until the sandbox is enforced (\`workspace.requireSandbox\`)`
    : say`each run_command asks a person; set \`workspace.requireSandbox\` to refuse instead`;
  return finding('sandbox', required ? 'failed' : 'warning', message, remedy);
}

/** How commands run: over a view whose changes are judged and can be undone, or directly. */
function viewFindings({ view }: SandboxStatus): readonly Finding[] {
  if (view === undefined) return [];
  if (!view.judged)
    return [finding('effects', 'warning', say`commands run on the workspace itself: ${asListed(view.reason)}`, asListed(view.better))];
  const judged = say`commands run over a view of the workspace; what they change is judged and can be undone`;
  return [finding('effects', 'ok', view.note === undefined ? judged : joined([judged, asListed(view.note)], '; '))];
}

/** What is kept to take back what commands changed. */
async function journalFindings({ history }: DoctorParts): Promise<readonly Finding[]> {
  try {
    const runs = await history();
    if (runs === undefined) return [];
    const [records, unfinished] = await Promise.all([runs.list(), runs.unfinished()]);
    const count = (wanted: RunRecord['state']) => records.filter(({ state }) => state === wanted).length;
    const kept = records.reduce((sum, { keptBytes }) => sum + keptBytes, 0);
    const { journalBytes, journalMs } = runs.limits;
    const days = Math.round(journalMs / 86_400_000);
    const most = say`at most ${megabytes(journalBytes)} and ${days} days (\`workspace.undo\`)`;
    const message = say`${count('applied')} runs can be undone, ${count('held')} wait for a person; ${megabytes(kept)} kept, ${most}`;
    if (unfinished.length === 0) return [finding('undo', 'ok', message)];
    const remedy = say`wait for it; where no process works on it any more, the next start takes it back`;
    return [finding('undo', 'warning', say`${message}; half done: ${unfinished.join(', ')}`, remedy)];
  } catch (thrown) {
    const { next, words } = toFault(thrown);
    const remedy = words.next ?? next ?? say`look at the disk and at who may write to the state directory`;
    return [finding('undo', 'failed', say`the journal of runs cannot be read: ${faultMessage(thrown)}`, remedy)];
  }
}

function megabytes(bytes: number): Message {
  return bytes < 2 ** 20 ? say`${bytes} bytes` : asIs(`${Math.round(bytes / 2 ** 20)} MB`);
}

/** What stays open where no service holds pins, token and store. */
function embeddedFinding({ origin, agreement, configFile, config }: DoctorParts): readonly Finding[] {
  if (origin === undefined || agreement.isRoots) return [];
  const isOurs = canWrite(configFile);
  const places = [...(isOurs ? [say`pins`] : []), ...(config.store.startsWith('sqlite:') ? [say`store`] : [])];
  const named = places.length === 0 ? say`the cluster token lies` : say`${joined(places)} and cluster token lie`;
  const message = say`${named} in your account: a program of yours that reads the token needs nobody’s approval`;
  const remedy = !isOurs
    ? say`let no agent run as this user`
    : process.platform === 'linux'
      ? say`\`banksman service install\` (root) gives them a user of their own; else keep the token file from your agents`
      : say`run agents as another user, or keep the token file from them (the service that closes this is for Linux)`;
  return [finding('embedded', 'warning', message, remedy)];
}

/** The file, or one in its place where there is none. */
function canWrite(file: string): boolean {
  try {
    accessSync(existsSync(file) ? file : path.dirname(file), constants.W_OK);
    return true;
  } catch {
    return !existsSync(path.dirname(file));
  }
}

function nodeFinding(): Finding {
  return finding('runtime', 'ok', say`Node ${process.versions.node} on ${process.platform}`);
}

async function storeFindings({ config, stateDir, store, memory, workspaceBase }: DoctorParts): Promise<readonly Finding[]> {
  const lost = await memory.finding().catch(() => undefined);
  await memory.keep();
  const isEmbedded = config.store.startsWith('sqlite:');
  const folder = isEmbedded ? path.dirname(store.location) : stateDir;
  return [
    ...(store.isMissing ? [missingFinding(store, lost)] : await pendingFindings(store)),
    ...(isEmbedded ? openStoreFindings(store.location) : []),
    ...foreignFindings(stateDir),
    writeFinding(folder),
    // The journal of what commands change is on the workspace's own disk.
    ...roomFindings([folder, stateDir, ...(workspaceBase === undefined ? [] : [path.resolve(workspaceBase, config.workspace.root)])]),
    ...(await timeFindings(store.care)),
    ...(lost === undefined ? await trailFindings(store) : [lost]),
    ...(await witnessFindings({ witnesses: config.witnesses ?? [], stateDir })),
  ];
}

/** As many as one page of a list holds; what waits beyond that is not looked at. */
const pendingLookedAt = 500;

/** A request that cannot be read is in no list: only the count has it. */
async function pendingFindings(store: Store): Promise<readonly Finding[]> {
  let missing = 0;
  const found = await probe('store', async () => {
    const { records, cursor } = await store.requests.list({ statuses: ['pending'], limit: pendingLookedAt });
    const count = await store.requests.countPending();
    missing = cursor === undefined ? Math.max(0, count - records.length) : 0;
    return missing === 0
      ? say`${store.location}: ${count} pending requests`
      : say`${store.location}: ${missing} of ${count} pending requests cannot be read: they are damaged, or were not written by Banksman`;
  });
  if (missing === 0) return [found];
  const remedy = say`find out who can write to the store, or what damaged it; such a request can be neither approved nor denied, and leaves when its time is over. \`banksman audit tail\` shows the requests that were made`;
  return [finding(found.topic, 'warning', found.words?.message ?? found.message, remedy)];
}

/** Before the service ran for the first time there is nothing to miss. */
function missingFinding(store: Store, lost: Finding | undefined): Finding {
  return finding('store', lost === undefined ? 'warning' : 'failed', missingWords(store), missingRemedy);
}

async function trailFindings({ audit, isMissing }: Store): Promise<readonly Finding[]> {
  return isMissing ? [] : [await probe('audit', async () => trailState(audit))];
}

/** Up to so many records `doctor` reads all of the trail: well under a second. */
const verifiedHere = 10_000;

async function trailState(audit: Store['audit']): Promise<Message> {
  const head = await audit.head();
  if (head === undefined) return say`empty so far`;
  const words = say`${head.sequence} records, newest ${head.hash.slice(0, 12)}`;
  if (head.sequence > verifiedHere) return say`${words}; whether all fit together is not looked at here: \`banksman audit verify\``;
  const verdict = await verifyTrail(audit);
  if (verdict.ok) return words;
  const next = 'find out who changed the store, or what damaged it; `banksman audit verify` names the records that do not fit';
  throw new Fault('audit_broken', verdict.message, { next });
}

async function clusterFindings(cluster: ClusterConfig, parts: DoctorParts, signal: AbortSignal): Promise<readonly Finding[]> {
  const client = parts.clusters.clients.get(cluster.name);
  if (client === undefined) return [];
  const topic = `cluster ${cluster.name}`;
  // First: each endpoint that is seen here is known to the calls that follow.
  const endpoints = await client.checkEndpoints(signal);
  const pin = await client.checkPin();
  const api = await probe(topic, async () => apiState(client, cluster.tokenId, signal));
  const shell = parts.clusters.configured.get(cluster.name)?.access.shell;
  const nodes = Object.keys(cluster.ssh?.nodes ?? {});
  const ssh =
    shell === undefined
      ? []
      : await Promise.all(
          nodes.map((node) => probe(`${topic} ssh ${node}`, async () => asIs((await shell.exec(node, 'hostname', signal)).stdout.trim()))),
        );
  const outdated: readonly Finding[] = pin === undefined ? [] : [{ topic: `${topic} pin`, state: 'warning', ...pin }];
  return [api, ...endpointFindings(topic, endpoints), ...outdated, ...(await tokenFileFindings(cluster, parts.baseDir)), ...ssh];
}

/** In words. @throws {Fault} `token_sees_nothing`, and whatever keeps it from being asked */
export async function apiState(client: ProxmoxClient, tokenId: string, signal: AbortSignal): Promise<Message> {
  const { version } = await client.version(signal);
  const permissions = await client.permissions(signal).catch(() => undefined);
  if (permissions !== undefined && Object.keys(permissions).length === 0) {
    const next = await client.grantHint('Sys.Audit,VM.Audit,Datastore.Audit', '/', signal);
    throw new Fault('token_sees_nothing', say`the API token \`${tokenId}\` holds no privilege on any path, so every list is empty`, {
      next,
    });
  }
  try {
    const rows = await client.clusterStatus(signal);
    const nodes = rows.filter((row) => row.type === 'node');
    const cluster = rows.find((row) => row.type === 'cluster');
    const quorum = cluster === undefined ? say`standalone` : cluster.quorate === true ? say`quorate` : say`NOT quorate`;
    return say`Proxmox VE ${version}, ${quorum}, ${nodes.filter((row) => row.online).length} of ${nodes.length} nodes online`;
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'pve_forbidden') throw thrown;
    return say`Proxmox VE ${version}; quorum is not visible to this token (it lacks \`Sys.Audit\` on \`/\`)`;
  }
}

const certificateWords: Readonly<Record<CertificateKnown, Message>> = {
  ca: say`certificate signed by a trusted CA`,
  pinned: say`certificate is the pinned one`,
  learned: say`certificate vouched for by a verified node`,
  unseen: say`certificate not seen yet`,
  unknown: say`certificate not known`,
};

/** An endpoint that is merely away costs nothing while another answers; one that is not trusted, or does not take the token, is wrong. */
function endpointFindings(topic: string, checks: readonly EndpointCheck[]): readonly Finding[] {
  const someAnswers = checks.some(({ fault }) => fault === undefined);
  return checks.map(({ origin, node, certificate, fault }): Finding => {
    const about = `${topic} endpoint ${origin}${node === undefined ? '' : ` (${node})`}`;
    if (fault === undefined) return finding(about, 'ok', say`${certificateWords[certificate]}, token accepted`);
    const isAway = ['pve_unreachable', 'pve_timeout', 'pve_node_unreachable'].includes(fault.code);
    return failedFinding(about, fault, isAway && someAnswers ? 'warning' : 'failed');
  });
}

async function tokenFileFindings(cluster: ClusterConfig, baseDir: string): Promise<readonly Finding[]> {
  if (cluster.tokenFile === undefined || process.platform === 'win32') return [];
  const file = expandPath(cluster.tokenFile, baseDir);
  const mode = await stat(file).then(
    (entry) => entry.mode & 0o077,
    () => 0,
  );
  if (mode === 0) return [];
  return [finding(`cluster ${cluster.name} token`, 'warning', say`${file} can be read by other users`, asIs(`chmod 600 ${file}`))];
}

function noCluster(config: Config): readonly Finding[] {
  return config.clusters.length > 0
    ? []
    : [finding('clusters', 'warning', say`no cluster is configured`, say`add one to \`clusters\`, or try \`banksman demo\``)];
}

/** In the editor, whose process lasts: a command of its own has nobody to remember. */
function loweredAgents(standing: Standing | undefined): readonly Finding[] {
  return (standing?.lowered() ?? []).map(({ agentId, steps }) =>
    finding(
      'standing',
      'warning',
      say`agent ${agentId} works ${plural(steps, say`one model tier`, say`${steps} model tiers`)} lower after repeated errors`,
      say`nothing: ${successesToRestore} calls in a row that succeed give a step back, and so does a restart`,
    ),
  );
}

function protection(config: Config): readonly Finding[] {
  const { nodes, guests, services, addresses, tags = [], pools = [], names = [], reasons = {} } = protectedListOf(config.protected);
  const count = nodes.length + guests.length + services.length + addresses.length + tags.length + pools.length + names.length;
  if (count > 0) {
    const why = Object.entries(reasons).map(([rule, words]) => `${rule.replace(/^protected\./, '')} (${words})`);
    return [finding('protected', 'ok', joined([say`${count} protected resources`, ...why]))];
  }
  const remedy = say`list in \`protected\` what this layer itself runs on, and what is named here as looking like it`;
  return [finding('protected', 'warning', say`nothing is protected`, remedy)];
}

/** A protected guest that no token can see protects its number, but not the node it runs on. */
async function unseenProtected(parts: DoctorParts, signal: AbortSignal): Promise<readonly Finding[]> {
  const { guests, nodes } = protectedListOf(parts.config.protected);
  if (parts.clusters.clients.size === 0 || guests.length + nodes.length === 0) return [];
  const seen = await Promise.all([...parts.clusters.clients.values()].map((client) => seenBy(client, signal)));
  // A cluster that cannot be asked has a finding of its own.
  if (seen.includes(undefined)) return [];
  const known = seen.filter((entry) => entry !== undefined);
  const unseen = [
    ...guests.filter((vmid) => !known.some((entry) => entry.guests.has(vmid))).map((vmid) => say`guest ${vmid}`),
    ...nodes.filter((node) => !known.some((entry) => entry.nodes.has(node.toLowerCase()))).map((node) => say`node \`${node}\``),
  ];
  const remedy = say`correct \`protected\`, or let the token see them (VM.Audit, Sys.Audit)`;
  return unseen.map((what) =>
    finding('protected', 'warning', say`${what} is protected, but no cluster shows it: what it depends on is not known`, remedy),
  );
}

async function seenBy(client: ProxmoxClient, signal: AbortSignal) {
  try {
    const [guests, nodes] = await Promise.all([client.guests(signal), client.nodes(signal)]);
    return { guests: new Set(guests.map((row) => row.vmid)), nodes: new Set(nodes.map((row) => row.node.toLowerCase())) };
  } catch {
    return undefined;
  }
}

async function probe(topic: string, look: () => Promise<Message>): Promise<Finding> {
  try {
    return finding(topic, 'ok', await look());
  } catch (thrown) {
    return failedFinding(topic, thrown);
  }
}
