/** Sends checkpoints to the witnesses of the configuration: by the clock in a process that stays, and when asked. No call ever waits for one. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import * as z from 'zod';
import type { AuditTrail, Finding } from '#kernel/app';
import { Fault, toFault } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import { say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { Config } from '../config/config.ts';
import { expandPath } from '../config/paths.ts';
import { readPrivateFile, replacePrivateFile } from '../config/private-file.ts';
import type { WitnessConfig } from '../config/witness-schema.ts';
import { finding } from '../finding.ts';
import { type Send, sendToFile, sendToGit, sendToTimestamp, sendToWitness } from './witness.ts';

const sendMs = 60_000;
const stateName = 'witnessed.json';

/** What became of the checkpoints for one witness. */
const stateSchema = z.record(
  z.string(),
  z.strictObject({
    /** The largest that it has: of which trail, how many records, since when. */
    last: z.strictObject({ origin: z.string(), size: z.int(), at: z.iso.datetime(), answer: z.string().exactOptional() }).exactOptional(),
    tried: z.iso.datetime(),
    /** Of the last try, where it failed; `differs`: the witness knows another trail. */
    failure: z.strictObject({ message: z.string(), differs: z.boolean(), since: z.iso.datetime() }).exactOptional(),
  }),
);
type State = z.output<typeof stateSchema>;
type Entry = State[string];

export interface WitnessParts {
  readonly witnesses: readonly WitnessConfig[];
  readonly audit: Pick<AuditLog, 'tree'>;
  readonly checkpoint: AuditTrail['checkpoint'];
  readonly stateDir: string;
  readonly baseDir: string;
  readonly log: Log;
  /** Aborts what is under way. */
  readonly signal?: AbortSignal;
}

/** Sends to all, each by itself, and says what came of it. Never rejects. */
export async function sendCheckpoints(parts: WitnessParts): Promise<readonly Finding[]> {
  const state = await readState(parts.stateDir);
  const sent = await Promise.all(parts.witnesses.map(async (witness) => [nameOf(witness), await sendOne(witness, parts, state)] as const));
  await keepState(parts, { ...(await readState(parts.stateDir)), ...Object.fromEntries(sent) });
  return witnessFindings(parts);
}

async function sendOne(witness: WitnessConfig, parts: WitnessParts, state: State): Promise<Entry> {
  const before = state[nameOf(witness)];
  const tried = new Date().toISOString();
  try {
    const last = await sendTo(witness, parts, before?.last);
    return { tried, last: { ...last, at: tried } };
  } catch (thrown) {
    const { code, message } = toFault(thrown);
    const differs = code === 'witness_differs';
    parts.log[differs ? 'error' : 'warn'](`audit: the witness ${nameOf(witness)}: ${showPlainly(message, 500)}`);
    return { tried, ...kept(before), failure: { message, differs, since: before?.failure?.since ?? tried } };
  }
}

function kept(before: Entry | undefined): Pick<Entry, 'last'> {
  return before?.last === undefined ? {} : { last: before.last };
}

type Sent = Omit<NonNullable<Entry['last']>, 'at'>;

async function sendTo(witness: WitnessConfig, parts: WitnessParts, last: Entry['last']): Promise<Sent> {
  const made = await parts.checkpoint();
  const { tree } = parts.audit;
  if (tree === undefined) throw new Fault('no_tree', 'this trail has no tree, and no checkpoints');
  const { origin, size } = made.checkpoint;
  const known = last?.origin === origin && last.size <= size ? last.size : 0;
  const limits = [AbortSignal.timeout(sendMs), ...(parts.signal === undefined ? [] : [parts.signal])];
  const other = last === undefined || last.origin === origin ? {} : { other: last.origin };
  const answer = await senderOf(witness, parts)({ ...made, ...other, tree, known, signal: AbortSignal.any(limits) });
  return { origin, size, ...(answer === undefined ? {} : { answer }) };
}

function senderOf(witness: WitnessConfig, { baseDir, stateDir }: WitnessParts): Send {
  if ('file' in witness) return sendToFile(expandPath(witness.file, baseDir));
  if ('witness' in witness) return sendToWitness(witness.witness, witness.key);
  const folder = createHash('sha256').update(nameOf(witness)).digest('hex').slice(0, 16);
  if ('timestamp' in witness) return sendToTimestamp(witness.timestamp, join(stateDir, 'timestamps', folder));
  return sendToGit(expandRemote(witness.git), witness.branch, join(stateDir, 'witness-git', folder));
}

function expandRemote(remote: string): string {
  return remote.startsWith('~/') ? expandPath(remote, '/') : remote;
}

/** Without what may be a credential in a URL. */
function nameOf(witness: WitnessConfig): string {
  if ('file' in witness) return `file ${witness.file}`;
  if ('witness' in witness) return `witness ${plain(witness.witness)}`;
  return 'git' in witness ? `git ${plain(witness.git)}` : `timestamp ${plain(witness.timestamp)}`;
}

function plain(place: string): string {
  return place.replace(/\/\/[^@/]*@/, '//');
}

/** For `doctor`: what each witness has, and since when it failed. */
export async function witnessFindings({ witnesses, stateDir }: Pick<WitnessParts, 'witnesses' | 'stateDir'>): Promise<readonly Finding[]> {
  if (witnesses.length === 0) return [];
  const state = await readState(stateDir);
  return witnesses.map((witness) => findingOf(nameOf(witness), state[nameOf(witness)]));
}

function findingOf(name: string, entry: Entry | undefined): Finding {
  const topic = 'witness';
  const last = entry?.last;
  const has = last === undefined ? say`has no checkpoint yet` : say`has the checkpoint of ${last.size} records, of ${last.at}`;
  if (entry?.failure === undefined) {
    const message = say`${name} ${has}`;
    if (last !== undefined) return finding(topic, 'ok', message);
    const remedy = say`a process that stays (an editor, a server, the service) sends one; \`banksman audit witness\` does it now`;
    return finding(topic, 'warning', message, remedy);
  }
  const { message, differs, since } = entry.failure;
  const words = showPlainly(message, 500);
  if (differs)
    return finding(topic, 'failed', say`${name}: ${words}`, say`find out who changed the store, or the witness’s copy; keep both`);
  return finding(
    topic,
    'warning',
    say`${name} fails since ${since}: ${words}; it ${has}`,
    say`it is tried again; calls do not wait for it`,
  );
}

interface WitnessingParts extends Omit<WitnessParts, 'witnesses'> {
  readonly config: Pick<Config, 'witnesses'>;
  /** Only a process that lasts longer than one call sends by the clock. */
  readonly stays?: boolean;
  /** Where there is a service, its process sends. */
  readonly service?: unknown;
}

/** Until closed. The first ones go soon after the start. */
export function startWitnessing({ config, stays = false, service, ...parts }: WitnessingParts): { close(): Promise<void> } {
  const witnesses = stays && service === undefined && parts.audit.tree !== undefined ? (config.witnesses ?? []) : [];
  const ending = new AbortController();
  let under: Promise<unknown> = Promise.resolve();
  const timers = witnesses.map((witness) => {
    const send = (): void => {
      under = under.then(() => sendCheckpoints({ ...parts, witnesses: [witness], signal: ending.signal })).catch(() => undefined);
    };
    send();
    return setInterval(send, witness.everySeconds * 1000).unref();
  });
  return {
    close: async () => {
      for (const timer of timers) clearInterval(timer);
      ending.abort();
      await under;
    },
  };
}

async function readState(stateDir: string): Promise<State> {
  try {
    return stateSchema.parse(JSON.parse((await readPrivateFile(join(stateDir, stateName))) ?? '{}'));
  } catch {
    return {};
  }
}

/** What cannot be kept is sent anew. */
async function keepState({ stateDir, log }: WitnessParts, state: State): Promise<void> {
  try {
    await replacePrivateFile(stateDir, stateName, `${JSON.stringify(state, null, 2)}\n`);
  } catch (thrown) {
    log.warn(`audit: what the witnesses have cannot be kept: ${toFault(thrown).message}`);
  }
}
