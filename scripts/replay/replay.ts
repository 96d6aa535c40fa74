/** Asks the emulator what was asked of the real cluster, each time from a fresh state, and compares the answers. */
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createAuthority } from '#demo/certificate';
import { issueCertificates } from '#demo/demo-cluster';
import { type ApiEndpoint, startApiEndpoint } from '#demo/pve/api-endpoint';
import { type Cluster, createCluster } from '#demo/pve/cluster';
import { namedVolumes } from '#demo/pve/drives';
import { ApiFaults } from '#demo/pve/faults';
import { setNodeUp } from '#demo/pve/ha-manager';
import type { ServiceSeed, VolumeSeed } from '#demo/pve/state';
import { createManualClock, type ManualClock } from '#demo/pve/task-engine';
import { createRandom } from '#demo/random';
import { compareAnswers, type WireAnswer } from './compare.ts';
import { type Fixture, readFixture } from './fixture.ts';
import { labPassword } from './lab-fixture.ts';
import { requestOfTask } from './origin.ts';
import type { RecordedFile, Recording } from './recordings.ts';
import { type Situation, type Story, situationOf, stageStart } from './situation.ts';

export interface Replayed {
  readonly recording: Recording;
  /** Empty: the answer is the recorded one. */
  readonly differences: readonly string[];
}

/** Replays all recordings of a file. @param wanted which of them; the others may still be needed, as a task's request */
export async function replayFile(file: RecordedFile, wanted: (recording: Recording) => boolean): Promise<Replayed[]> {
  const stage = await openStage();
  try {
    const fixture = readFixture(file);
    const results: Replayed[] = [];
    for (const recording of file.recordings.filter(wanted))
      results.push(await replayOne({ stage, fixture, all: file.recordings }, recording));
    return results;
  } finally {
    await stage.close();
  }
}

interface Stage {
  readonly ca: string;
  cluster: Cluster | undefined;
  clock: ManualClock;
  readonly endpoints: Map<string, ApiEndpoint>;
  close(): Promise<void>;
}

const nodes = ['Home', 'pve', 'agent1'];

/** One endpoint a node; the cluster behind them is exchanged for each recording. */
async function openStage(): Promise<Stage> {
  const authority = createAuthority('replay', Date.now());
  const stage: Stage = {
    ca: authority.certificatePem,
    cluster: undefined,
    clock: createManualClock(stageStart),
    endpoints: new Map(),
    close: async () => void (await Promise.all([...stage.endpoints.values()].map((endpoint) => endpoint.close()))),
  };
  const faults = new ApiFaults();
  for (const node of nodes) {
    const certificate = authority.issue(node, ['localhost'], ['127.0.0.1']);
    const options = { node, certificate, faults, addresses: ['127.0.0.1'], port: 0 };
    const live = {
      ...options,
      get cluster(): Cluster {
        if (stage.cluster === undefined) throw new Error('no cluster on the stage');
        return stage.cluster;
      },
    };
    stage.endpoints.set(node, await startApiEndpoint(live));
  }
  return stage;
}

interface Scene {
  readonly stage: Stage;
  readonly fixture: Fixture;
  readonly all: readonly Recording[];
}

async function replayOne(scene: Scene, recording: Recording): Promise<Replayed> {
  try {
    const story = storyOf(scene, recording);
    setStage(scene, situationOf(scene.fixture, story, scene.all));
    const answer = await perform(scene, story, recording);
    return { recording, differences: compareAnswers(recording, answer) };
  } catch (thrown) {
    return { recording, differences: [`not replayed: ${thrown instanceof Error ? thrown.message : String(thrown)}`] };
  }
}

const arrow = /^(.*) → task (?:status \(.*\)|log)$/;

/** The request behind a question about a task: by `of`, by name, or as the UPID tells it. */
function storyOf({ all }: Scene, recording: Recording): Story {
  const name = arrow.exec(recording.name)?.[1];
  const asked = /^task status of (.*)$/.exec(recording.request.path)?.[1];
  if (name === undefined && asked === undefined) return { request: recording, recordings: [recording] };
  const siblings = all.filter((one) => (recording.of === undefined ? arrow.exec(one.name)?.[1] === name : one.of === recording.of));
  const known = all.find((one) => (recording.of === undefined ? one.name === name : one.seq === recording.of));
  return { request: known ?? requestOfTask(recording, siblings, asked), recordings: asked === undefined ? siblings : [recording] };
}

function setStage({ stage, fixture }: Scene, situation: Situation): void {
  const clock = createManualClock(stageStart);
  const seed = {
    ...fixture.seed,
    guests: situation.guests,
    volumes: volumesOf(fixture, situation),
    pools: situation.pools,
    backupJobs: situation.backupJobs,
    storages: situation.storages,
    tasks: [...fixture.seed.tasks, ...situation.tasks],
    options: { ...fixture.seed.options, ...situation.options },
    nodes: fixture.seed.nodes.map((node) => ({ ...node, services: (node.services ?? []).map((one) => withState(one, situation)) })),
  };
  const cluster = createCluster({ seed, clock, random: createRandom(stageStart), taskDurationMs: 1000 });
  issueCertificates(cluster);
  stage.clock = clock;
  stage.cluster = cluster;
  for (const [vmid, { rules, options }] of situation.firewalls)
    cluster.state.firewalls.set(vmid, {
      rules: rules.map((rule) => new Map(Object.entries(rule))),
      options: new Map(Object.entries(options)),
    });
  for (const vmid of situation.paused) pause(cluster, vmid);
  for (const { upid, status, log } of situation.known) cluster.tasks.adopt(upid, status, log);
  setHa(cluster, situation);
  const down = cluster.state.nodes.get(situation.down ?? '');
  if (down !== undefined) {
    down.unreachable = situation.ha.length > 0 || fixture.seed.options !== undefined ? 'No route to host' : 'Connection refused';
    setNodeUp(cluster, down, false);
    clock.advance(situation.ha.length > 0 ? 60_000 : 0);
  }
  cluster.state.quorate = situation.quorate;
}

/** What the recording shows, then what the configurations name, then what was there at the start: each volume once. */
function volumesOf(fixture: Fixture, situation: Situation): readonly VolumeSeed[] {
  const shared = new Set(fixture.seed.storages.filter((storage) => storage.shared === true).map(({ id }) => id));
  const named = situation.guests.flatMap((guest) =>
    namedVolumes({ ...guest, config: new Map(Object.entries(guest.config)) }, (storage) => shared.has(storage)),
  );
  const all = [...situation.volumes, ...named, ...fixture.seed.volumes];
  return [...new Map(all.reverse().map((volume) => [volume.volid, volume])).values()];
}

function withState(service: ServiceSeed, { services }: Situation): ServiceSeed {
  return { ...service, ...services.get(service.name) };
}

function pause(cluster: Cluster, vmid: number): void {
  const guest = cluster.state.guests.get(vmid);
  if (guest !== undefined) guest.paused = true;
}

function setHa({ ha }: Cluster, { ha: settings, haMaster }: Situation): void {
  for (const { sid, state: wanted, crmState, options } of settings) {
    const [prefix, vmid] = sid.split(':');
    const resource = { sid, kind: prefix === 'ct' ? 'lxc' : 'qemu', vmid: Number(vmid), state: wanted, crmState, round: 0 } as const;
    ha.resources.set(sid, { ...resource, options: new Map(Object.entries(options)) });
  }
  ha.master = haMaster;
}

async function perform(scene: Scene, story: Story, recording: Recording): Promise<WireAnswer> {
  const { stage } = scene;
  const situation = situationOf(scene.fixture, story, scene.all);
  for (const { path, form, auth } of situation.first) {
    const { json: _, ...asked } = story.request.request;
    await send(scene, { ...asked, method: 'POST', path, ...(form === undefined ? {} : { form }), ...(auth === undefined ? {} : { auth }) });
    stage.clock.advance(500);
  }
  if (story.request === recording) {
    return send(scene, recording.request, await cookieOf(scene, recording.name));
  }
  const answer = await send(scene, story.request.request);
  const upid = (answer.body as { readonly data?: unknown } | undefined)?.data;
  if (typeof upid !== 'string' || !upid.startsWith('UPID:')) throw new Error(`its request got ${answer.status} ${answer.statusMessage}`);
  follow(stage, upid, story.recordings);
  const path = recording.request.path.replace(/^task status of .*$/, `/nodes/${upid.split(':')[1]}/tasks/{upid}/status`);
  return send(scene, { ...recording.request, path: path.replace('{upid}', encodeURIComponent(upid)) });
}

const interrupted = /received interrupt|unexpected status|interrupted by signal/;

/** Lets the task come to its end, or to where the recordings of it left it. */
function follow({ clock, cluster }: Stage, upid: string, recordings: readonly Recording[]): void {
  if (cluster === undefined) return;
  const { tasks } = cluster;
  const text = JSON.stringify(recordings.map(({ response }) => response.body));
  if (interrupted.test(text)) {
    // An agent that says nothing takes three seconds.
    clock.advance(text.includes('guest-ping') ? 3500 : 500);
    tasks.advance();
    tasks.interrupt(upid);
  }
  if (/"status":"running"|no content/.test(text)) return;
  for (let seconds = 0; seconds < 1200 && tasks.find(upid)?.exitstatus === undefined; seconds += 1) {
    clock.advance(1000);
    tasks.advance();
  }
}

/** Tickets were taken out of the recordings; the pairs with one are told by their names. */
async function cookieOf(scene: Scene, name: string): Promise<Record<string, string>> {
  if (!/cookie/i.test(name)) return {};
  const form = { username: 'jarvis@pve', password: labPassword };
  const answer = await send(scene, { method: 'POST', path: '/access/ticket', auth: 'none', form });
  const { ticket = '' } = (answer.body as { readonly data: { readonly ticket?: string } }).data;
  const cookie = { Cookie: `PVEAuthCookie=${encodeURIComponent(ticket)}` };
  // Any value but the right one.
  return /bad CSRF/i.test(name) ? { ...cookie, CSRFPreventionToken: name } : cookie;
}

function send({ stage, fixture }: Scene, asked: Recording['request'], extra: Readonly<Record<string, string>> = {}): Promise<WireAnswer> {
  const text = bodyOf(asked);
  const type = asked.json === undefined ? 'application/x-www-form-urlencoded' : 'application/json';
  const headers = {
    ...authorizationOf(asked.auth ?? 'ops', fixture),
    ...(text === undefined ? {} : { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(text)) }),
    ...extra,
  };
  const url = new URL(stage.endpoints.get(asked.via ?? 'Home')?.url ?? '');
  const target = { host: url.hostname, port: url.port, path: `/api2/json${asked.path.replace(/ /g, '%20')}` };
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest({ ...target, method: asked.method, headers, ca: stage.ca, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve(read(response, Buffer.concat(chunks).toString('utf8'))));
    });
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

function bodyOf({ form, json }: Recording['request']): string | undefined {
  if (json !== undefined) return JSON.stringify(json);
  return form === undefined ? undefined : new URLSearchParams(form).toString();
}

function authorizationOf(auth: string, { tokens }: Fixture): Record<string, string> {
  const value = auth.startsWith('PVEAPIToken=') ? auth : tokens[auth];
  return value === undefined || auth === 'none' ? {} : { Authorization: value };
}

function read(response: IncomingMessage, text: string): WireAnswer {
  const { statusCode = 0, statusMessage = '', headers } = response;
  return { status: statusCode, statusMessage, headers, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
