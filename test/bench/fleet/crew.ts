/** Agents and people of a fleet, spread over processes. */
import { join } from 'node:path';
import type { AgentsSettings, FleetUser } from './children/agents.ts';
import type { PeopleSettings } from './children/people.ts';
import { firstVmid } from './journal.ts';
import type { Fleet, FleetProcess } from './machine.ts';

export interface CrewOptions {
  readonly agents: number;
  readonly processes: number;
  readonly until: number;
  readonly pauseMs: readonly [number, number];
  readonly thinkMs: readonly [number, number];
  /** Of 100 calls. */
  readonly change: number;
  readonly seed: number;
}

export interface Crew {
  readonly processes: readonly FleetProcess[];
  readonly hosts: readonly FleetProcess[];
  readonly told: readonly string[];
  readonly answers: readonly string[];
  /** Kills a process of agents, and starts it again with the same agents. */
  restartHost(index: number): Promise<void>;
  /** Journals of processes that were killed. */
  readonly killed: ReadonlySet<string>;
  /** All agents have had their last answer. */
  finished(): Promise<void>;
}

const waitMs = 45_000;

export async function startCrew(fleet: Fleet, options: CrewOptions): Promise<Crew> {
  const users = withAgents(fleet, options.agents);
  const answers = join(fleet.folder, 'journals', 'people.jsonl');
  const { configFile, stateDir } = fleet;
  const peopleSettings: PeopleSettings = {
    ...{ configFile, stateDir, people: fleet.people, seed: options.seed, thinkMs: options.thinkMs, denies: 10, journal: answers },
  };
  const people = fleet.child('people', 'people', peopleSettings);
  await people.start();
  const told: string[] = [];
  const killed = new Set<string>();
  let started = 0;
  const startHost = (index: number): { host: FleetProcess; journal: string; begun: Promise<void> } => {
    started += 1;
    const journal = join(fleet.folder, 'journals', `agents${index}-${started}.jsonl`);
    told.push(journal);
    const settings: AgentsSettings = {
      ...{
        homes: join(fleet.folder, 'homes'),
        seed: options.seed * 1_000 + started,
        until: options.until,
        pauseMs: options.pauseMs,
        waitMs,
      },
      ...{
        users: users.filter((_, place) => place % options.processes === index),
        shares: { change: options.change, foreign: 2, peek: 2 },
        journal,
      },
    };
    const host = fleet.child('agents', `agents${index}-${started}`, settings);
    const begun = host.start();
    // Whoever waits for the end hears of it; one that is killed has none.
    begun.catch(() => undefined);
    return { host, journal, begun };
  };
  const running = Array.from({ length: options.processes }, (_, index) => startHost(index));
  return {
    ...{ told, killed, answers: [answers] },
    get processes() {
      return [people, ...running.map(({ host }) => host)];
    },
    get hosts() {
      return running.map(({ host }) => host);
    },
    restartHost: async (index) => {
      const before = running[index];
      if (before === undefined) return;
      killed.add(before.journal);
      await before.host.kill();
      running[index] = startHost(index);
    },
    finished: async () => {
      await Promise.all(running.map(({ begun }) => begun));
      await people.kill();
    },
  };
}

/** Each agent has a guest of its own in its user's cluster. */
function withAgents({ users, clusters }: Fleet, agents: number): FleetUser[] {
  const nextGuest = new Map<string, number>();
  return users.map((user, index) => ({
    ...{ name: user.name, socket: user.socket, cluster: user.cluster },
    foreign: clusters.filter((cluster) => cluster !== user.cluster),
    agents: Array.from({ length: Math.floor(agents / users.length) + (index < agents % users.length ? 1 : 0) }, (_, place) => {
      const guest = nextGuest.get(user.cluster) ?? 0;
      nextGuest.set(user.cluster, guest + 1);
      return { name: `a${index + 1}x${place + 1}`, vmid: firstVmid + guest };
    }),
  }));
}
