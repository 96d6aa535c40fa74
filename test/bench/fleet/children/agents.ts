/**
 * agents FILE: some users' agents (`AgentsSettings`), each one call at a time, through the users' own sockets, until the time is over. What each
 * begins and is told is written down at once. Of every answer it looks whether it is this agent's own.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseConfig } from '#app/config/config';
import { connectApp } from '#app/remote-app';
import type { App } from '#kernel/app';
import type { Outcome } from '#kernel/outcome';
import { createRandom } from '../../../../src/demo/random.ts';
import { type CallKind, guestName, journalTo, type Told } from '../journal.ts';

export interface FleetUser {
  readonly name: string;
  readonly socket: string;
  readonly cluster: string;
  /** Clusters that its scope forbids. */
  readonly foreign: readonly string[];
  readonly agents: readonly { readonly name: string; readonly vmid: number }[];
}

export interface AgentsSettings {
  readonly users: readonly FleetUser[];
  /** Of each user's own files. */
  readonly homes: string;
  readonly seed: number;
  /** ms since the epoch: no call begins after it. */
  readonly until: number;
  /** Between two calls, in ms: at least, and at most. */
  readonly pauseMs: readonly [number, number];
  /** How long a call waits for a person. */
  readonly waitMs: number;
  /** Of 100 calls; the others read. */
  readonly shares: { readonly change: number; readonly foreign: number; readonly peek: number };
  readonly journal: string;
}

interface Host {
  readonly settings: AgentsSettings;
  readonly random: () => number;
  readonly write: (line: Told) => void;
  /** Of all agents of this process, to peek at. */
  readonly requests: { readonly id: string; readonly of: string }[];
}

interface Asked {
  readonly kind: CallKind;
  readonly tool: string;
  readonly input: object;
  readonly target?: NonNullable<Told['target']>;
  /** Why the answer is another agent's; undefined: it is not. */
  readonly crossed: (outcome: Outcome) => string | undefined;
}

type Member = FleetUser['agents'][number];

class FleetAgent {
  readonly #host: Host;
  readonly #user: FleetUser;
  readonly #member: Member;
  #calls = 0;
  #running = true;

  constructor(host: Host, user: FleetUser, member: Member) {
    this.#host = host;
    this.#user = user;
    this.#member = member;
  }

  async work(app: App): Promise<void> {
    const { settings, random } = this.#host;
    const [least, most] = settings.pauseMs;
    await sleep(random() * most);
    while (Date.now() < settings.until) {
      const asked = this.#next();
      // Asked again, as a model does that is told so: what was approved meanwhile is used then.
      for (let times = 0; times < 3 && Date.now() < settings.until + settings.waitMs; times += 1)
        if ((await this.#call(app, asked)).status !== 'pending') break;
      await sleep(least + random() * (most - least));
    }
  }

  async #call(app: App, { kind, tool, input, target, crossed }: Asked): Promise<Outcome> {
    const { write, settings, requests } = this.#host;
    this.#calls += 1;
    const said = { agent: this.#member.name, call: this.#calls, kind, ...(target === undefined ? {} : { target }) };
    const at = Date.now();
    write({ at, ...said });
    const begun = performance.now();
    const outcome = await app.call({
      ...{ tool, input, waitMs: kind === 'change' ? settings.waitMs : 0, signal: new AbortController().signal },
      agent: { id: `mcp:${this.#member.name}`, host: 'mcp', modelTier: 'advanced' },
      gate: { ask: () => undefined },
    });
    const { status, code, request_id: request } = outcome;
    const end = { status, code, ms: performance.now() - begun, ...(request === undefined ? {} : { request }) };
    const other = crossed(outcome);
    write({ at, ...said, end, ...(other === undefined ? {} : { crossed: other }) });
    if (request !== undefined && kind === 'change') requests.push({ id: request, of: this.#user.name });
    return outcome;
  }

  #next(): Asked {
    const { random, settings, requests } = this.#host;
    const { change, foreign, peek } = settings.shares;
    const draw = random() * 100;
    if (draw < change) return random() < 0.5 ? this.#describe() : this.#switch();
    if (draw < change + foreign) return this.#trespass();
    const others = draw < change + foreign + peek ? requests.filter(({ of }) => of !== this.#user.name) : [];
    const other = others[Math.floor(random() * others.length)];
    return other === undefined ? this.#read() : this.#peek(other.id);
  }

  #place() {
    return { cluster: this.#user.cluster, vmid: this.#member.vmid };
  }

  #read(): Asked {
    const { cluster, vmid } = this.#place();
    const name = guestName(cluster, vmid);
    const crossed = (outcome: Outcome) =>
      outcome.status === 'ok' && !JSON.stringify(outcome.result).includes(name) ? `asked for ${name}, got another` : undefined;
    return { kind: 'read', tool: 'get_guest', input: { vmid, cluster }, crossed };
  }

  #describe(): Asked {
    const mark = `${this.#member.name}/${process.pid}/${this.#calls}`;
    return this.#change('set_guest_config', { type: 'description', mark }, { description: mark });
  }

  /** Off and on again, as it is. */
  #switch(): Asked {
    this.#running = !this.#running;
    return this.#running ? this.#change('start_vm', { type: 'qmstart' }) : this.#change('stop_vm', { type: 'qmstop' });
  }

  #change(tool: string, does: { readonly type: string; readonly mark?: string }, more: object = {}): Asked {
    const place = this.#place();
    return { kind: 'change', tool, input: { ...place, ...more }, target: { ...place, ...does }, crossed: () => undefined };
  }

  #trespass(): Asked {
    const { foreign } = this.#user;
    const cluster = foreign[Math.floor(this.#host.random() * foreign.length)] ?? '';
    const { vmid } = this.#member;
    const target = { cluster, vmid, type: 'qmstop' };
    const crossed = ({ status }: Outcome) =>
      status === 'ok' || status === 'pending' ? 'its scope let it into another cluster' : undefined;
    return { kind: 'foreign', tool: 'stop_vm', input: { vmid, cluster }, target, crossed };
  }

  #peek(id: string): Asked {
    // For another user's there is the same answer as for none.
    const isTold = ({ status, result }: Outcome) => status === 'ok' && !JSON.stringify(result).includes('"status":"not_found"');
    const crossed = (outcome: Outcome) => (isTold(outcome) ? `it was told of ${id}, another user's` : undefined);
    return { kind: 'peek', tool: 'check_request_status', input: { request_id: id }, crossed };
  }
}

async function connected(user: FleetUser, homes: string): Promise<App> {
  const silent = () => undefined;
  const home = join(homes, user.name);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const options = {
    ...{ socket: user.socket, config: parseConfig({}, 'fleet'), baseDir: home, stateDir: join(home, 'state'), via: 'cli' as const },
    ...{ configFile: join(home, 'config.json'), log: { debug: silent, info: silent, warn: silent, error: silent }, version: 'fleet' },
  };
  for (;;) {
    try {
      return await connectApp(options);
    } catch {
      await sleep(200);
    }
  }
}

const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as AgentsSettings;
const stream = createRandom(settings.seed);
const host: Host = { settings, random: () => stream.next(), write: journalTo(settings.journal), requests: [] };
await Promise.all(
  settings.users.map(async (user) => {
    const app = await connected(user, settings.homes);
    await Promise.all(user.agents.map((member) => new FleetAgent(host, user, member).work(app)));
    await app.close();
  }),
);
console.log('done');
