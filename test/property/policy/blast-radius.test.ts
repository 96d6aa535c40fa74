/** The predicted loss is the one that a simulation has, which really takes the thing out of a model and lets it run until nothing changes. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Loss } from '#kernel/tool';
import { blastRadius, type RadiusFacts, type RadiusGuest, type RadiusNode } from '#policy/blast/blast-radius';
import type { PlacementRule } from '#policy/blast/placement';

interface Machine extends RadiusGuest {
  node: string;
  up: boolean;
}

/** Written from the other end than the predictor: no index, no order of causes; everything is asked again until nothing changes any more. */
class Model {
  readonly hosts: (RadiusNode & { up: boolean })[];
  readonly machines: Machine[];
  readonly ran: readonly number[];
  /** Addresses that something of the cluster has, and those of them at which something answered before. */
  readonly known: ReadonlySet<string>;
  readonly answered: ReadonlySet<string>;
  readonly lostStorages = new Set<string>();
  readonly facts: RadiusFacts;

  constructor(facts: RadiusFacts) {
    this.facts = facts;
    this.hosts = facts.nodes.map((node) => ({ ...node, up: node.online }));
    this.machines = facts.guests.map((guest) => ({ ...guest, up: guest.running && this.isUp(guest.node) }));
    this.ran = this.machines.filter(({ up }) => up).map(({ vmid }) => vmid);
    this.known = new Set([...this.hosts, ...this.machines].flatMap(({ addresses }) => addresses));
    this.answered = this.answering();
  }

  isUp(name: string): boolean {
    return this.hosts.some(({ node, up }) => node === name && up);
  }

  isQuorate(): boolean {
    const votes = (some: readonly RadiusNode[]) => some.reduce((sum, one) => sum + one.votes, 0);
    return !this.facts.clustered || votes(this.hosts.filter(({ up }) => up)) > votes(this.hosts) / 2;
  }

  /** @returns the machines that ran there */
  powerOff(name: string): readonly Machine[] {
    const victims = this.machines.filter(({ node, up }) => node === name && up);
    for (const host of this.hosts) if (host.node === name) host.up = false;
    for (const machine of victims) machine.up = false;
    return victims;
  }

  withHa(): readonly string[] {
    const names = this.hosts.filter(({ up }) => up).map(({ node }) => node);
    return names.filter((name) => this.machines.some(({ node, ha, up }) => node === name && ha && up));
  }

  free(name: string): number {
    const used = this.machines.filter(({ node, up }) => node === name && up).reduce((sum, one) => sum + one.memory, 0);
    return (this.hosts.find(({ node }) => node === name)?.memory ?? 0) - used;
  }

  /** Where high availability may start it, by the rules that name it. */
  placesOf(machine: Machine): readonly string[] {
    const names = this.hosts
      .filter(({ up }) => up)
      .map(({ node }) => node)
      .sort();
    const rules = (this.facts.rules ?? []).filter(({ guests }) => guests.includes(machine.vmid));
    if (rules.length === 0) return names;
    const mates = (rule: PlacementRule) =>
      this.machines.filter(({ vmid, up }) => up && vmid !== machine.vmid && rule.guests.includes(vmid)).map(({ node }) => node);
    const kept = rules.filter(({ kind }) => kind === 'together').flatMap(mates);
    const apart = new Set(rules.filter(({ kind }) => kind === 'apart').flatMap(mates));
    const isBest = (rule: PlacementRule) => {
      if (rule.kind !== 'nodes') return () => true;
      const rank = (one: string) => rule.nodes.get(one) ?? (rule.strict ? Number.NEGATIVE_INFINITY : -1);
      const best = names.reduce((most, one) => Math.max(most, rank(one)), Number.NEGATIVE_INFINITY);
      return (one: string) => rank(one) > Number.NEGATIVE_INFINITY && rank(one) === best;
    };
    const tests = rules.map(isBest);
    const free = names.filter((one) => tests.every((test) => test(one)) && !apart.has(one));
    // A guest may be in several rules that keep it with the same other one: each counts.
    const weight = (one: string) => kept.filter((node) => node === one).length;
    const heaviest = Math.max(0, ...free.map(weight));
    return heaviest === 0 ? free : free.filter((one) => weight(one) === heaviest).slice(0, 1);
  }

  /** False: there is no room where it may be, or its disks are not seen elsewhere. */
  restart(machine: Machine): boolean {
    const isLocal = machine.storages.some((name) => this.facts.storages.find(({ storage }) => storage === name)?.shared !== true);
    const rooms = this.placesOf(machine)
      .map((name) => ({ name, room: this.free(name) }))
      .filter(({ room }) => room >= machine.memory);
    const most = Math.max(...rooms.map(({ room }) => room));
    const place = rooms.find(({ room }) => room === most);
    if (isLocal || place === undefined) return false;
    machine.node = place.name;
    machine.up = true;
    return true;
  }

  /** Addresses at which something answers now. */
  answering(): ReadonlySet<string> {
    return new Set([...this.hosts, ...this.machines].filter(({ up }) => up).flatMap(({ addresses }) => addresses));
  }

  lacksDisk({ storages }: Machine, answering: ReadonlySet<string>): boolean {
    return this.facts.storages.some(({ storage, servers, declared = [] }) => {
      const isServedBy = (some: readonly string[], by: ReadonlySet<string>) =>
        some.length === 0 || some.some((address) => !this.known.has(address) || by.has(address));
      // What was served by nothing before ran all the same, from somewhere that is not known.
      const isGone = [servers, declared].some((some) => isServedBy(some, this.answered) && !isServedBy(some, answering));
      return storages.includes(storage) && (this.lostStorages.has(storage) || isGone);
    });
  }

  settle(): void {
    for (let changed = true; changed; ) {
      const answering = this.answering();
      const failing = this.machines.filter((machine) => machine.up && this.lacksDisk(machine, answering));
      for (const machine of failing) machine.up = false;
      changed = failing.length > 0;
    }
  }

  cutOff(addresses: readonly string[], answering: ReadonlySet<string>): boolean {
    const isAlone = (by: ReadonlySet<string>) =>
      addresses.length > 0 && addresses.every((address) => this.known.has(address) && !by.has(address));
    return isAlone(answering) && !isAlone(this.answered);
  }
}

function simulate(facts: RadiusFacts, loss: Loss) {
  const model = new Model(facts);
  const before = model.isQuorate();
  if (loss.kind === 'storage') model.lostStorages.add(loss.storage);
  for (const machine of model.machines) if (loss.kind === 'guest' && machine.vmid === loss.vmid) machine.up = false;
  const orphans = loss.kind === 'node' ? model.powerOff(loss.node) : [];
  const after = model.isQuorate();
  const fenced = before && !after ? model.withHa() : [];
  for (const name of fenced) model.powerOff(name);
  const highly = orphans.filter(({ ha }) => ha && facts.clustered && after).toSorted((a, b) => a.vmid - b.vmid);
  const stranded = highly.filter((machine) => !model.restart(machine)).map(({ vmid }) => vmid);
  model.settle();
  const up = model.machines.filter((one) => one.up);
  const answering = model.answering();
  const cutOff = (groupsOf: (one: Machine) => readonly (readonly string[] | undefined)[]) =>
    up.filter((one) => groupsOf(one).some((group = []) => model.cutOff(group, answering))).map(({ vmid }) => vmid);
  return {
    quorum: { before, after },
    fenced: fenced.toSorted((a, b) => (a < b ? -1 : 1)),
    moved: highly.filter((machine) => machine.up).map(({ vmid, node }) => [vmid, node]),
    stranded,
    down: model.ran.filter((vmid) => !up.some((one) => one.vmid === vmid)),
    withoutGateway: cutOff(({ gateways, declared }) => [gateways, declared?.gateways]),
    withoutDns: cutOff(({ resolvers, declared }) => [resolvers, declared?.resolvers]),
    startedAfter: up.filter((one) => isAfter(facts, loss, one)).map(({ vmid }) => vmid),
  };
}

function isAfter({ guests }: RadiusFacts, loss: Loss, one: RadiusGuest): boolean {
  const lost = loss.kind === 'guest' ? guests.find(({ vmid }) => vmid === loss.vmid) : undefined;
  if (lost?.order === undefined || one.order === undefined || one.node !== lost.node) return false;
  return lost.order < Number.POSITIVE_INFINITY && one.order > lost.order;
}

function predicted(facts: RadiusFacts, loss: Loss) {
  const { quorum, moved, down, ...rest } = blastRadius(facts, loss);
  const order = facts.guests.map(({ vmid }) => vmid);
  return {
    ...rest,
    quorum: { before: quorum.before, after: quorum.after },
    moved: [...moved],
    down: order.filter((vmid) => down.has(vmid)),
  };
}

/** Every thing of the cluster, lost once. */
function everyLoss({ guests, nodes, storages }: RadiusFacts): readonly Loss[] {
  return [
    ...guests.map(({ vmid }): Loss => ({ kind: 'guest', vmid })),
    ...nodes.map(({ node }): Loss => ({ kind: 'node', node })),
    ...storages.map(({ storage }): Loss => ({ kind: 'storage', storage })),
  ];
}

/** The losses of which prediction and simulation differ. */
function differing(facts: RadiusFacts, losses: readonly Loss[]): readonly object[] {
  return losses.flatMap((loss) => {
    const [said, happened] = [predicted(facts, loss), simulate(facts, loss)];
    return isDeepStrictEqual(said, happened) ? [] : [{ loss, said, happened }];
  });
}

const address = (last: number) => `10.0.0.${last}`;

function clusters(mostNodes: number, mostGuests: number): fc.Arbitrary<RadiusFacts> {
  const addresses = fc.uniqueArray(fc.integer({ min: 1, max: 30 }).map(address), { maxLength: 2 });
  const storageNames = ['local', 'nas', 'nas2', 'ceph', 'san'];
  const node = fc.record({
    online: fc.boolean().chain((online) => (online ? fc.constant(true) : fc.boolean())),
    votes: fc.constantFrom(1, 1, 1, 2),
    memory: fc.integer({ min: 0, max: 64 }),
    addresses,
  });
  const guest = fc.record({
    at: fc.nat(),
    running: fc.boolean(),
    memory: fc.integer({ min: 1, max: 16 }),
    ha: fc.boolean(),
    ...{ addresses, gateways: addresses, resolvers: addresses },
    storages: fc.subarray(storageNames),
    declared: fc.record({ gateways: addresses, resolvers: addresses }),
    place: fc.constantFrom(undefined, 1, 2, Number.POSITIVE_INFINITY),
  });
  const storage = (name: string) =>
    fc.record({
      shared: fc.constant(name !== 'local'),
      servers: name === 'local' ? fc.constant([]) : addresses,
      declared: addresses,
    });
  const some = fc.array(fc.nat({ max: mostGuests }), { minLength: 1, maxLength: 4 });
  const rule = fc.record({
    kind: fc.constantFrom('nodes', 'together', 'apart'),
    guests: some,
    nodes: fc.array(fc.tuple(fc.nat({ max: mostNodes }), fc.integer({ min: 0, max: 2 })), { minLength: 1, maxLength: 3 }),
    strict: fc.boolean(),
  });
  return fc
    .record({
      clustered: fc.boolean(),
      nodes: fc.array(node, { minLength: 1, maxLength: mostNodes }),
      guests: fc.array(guest, { maxLength: mostGuests }),
      storages: fc.tuple(...storageNames.map(storage)),
      rules: fc.array(rule, { maxLength: 3 }),
    })
    .map(({ clustered, nodes, guests, storages, rules }) => ({
      clustered,
      rules: rules.map(({ kind, guests: members, nodes: wanted, strict }): PlacementRule => {
        const vmids = [...new Set(members.map((member) => 100 + member))];
        if (kind !== 'nodes') return { kind: kind === 'apart' ? 'apart' : 'together', guests: vmids };
        return {
          kind: 'nodes',
          guests: vmids,
          strict,
          nodes: new Map(wanted.map(([at, priority]) => [`n${String(at).padStart(3, '0')}`, priority])),
        };
      }),
      nodes: nodes.map((one, index): RadiusNode => ({ node: `n${String(index).padStart(3, '0')}`, ...one })),
      guests: guests.map(
        ({ at, place, ...one }, index): RadiusGuest => ({
          ...{ vmid: 100 + index, node: `n${String(at % nodes.length).padStart(3, '0')}`, ...one },
          ...(place === undefined ? {} : { order: place }),
        }),
      ),
      storages: storages.map((one, index) => ({ storage: storageNames[index] ?? '', ...one })),
    }));
}

describe('what goes with a guest, node or storage', () => {
  it('is what a simulation loses: every loss of small clusters', () => {
    fc.assert(
      fc.property(clusters(5, 10), (facts) => {
        expect(differing(facts, everyLoss(facts))).toEqual([]);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    [50, 4],
    [200, 2],
    [500, 1],
  ])('is what a simulation loses: every node and storage, and a hundred guests, of %i nodes', (size, rounds) => {
    // A generator of its own: shrinking half a thousand nodes would take longer than the test.
    const random = linear(size);
    for (let round = 0; round < rounds; round += 1) {
      const facts = largeCluster(size, random);
      const losses = everyLoss(facts);
      const guests = losses.filter(({ kind }) => kind === 'guest').slice(0, 100);
      expect(differing(facts, [...losses.filter(({ kind }) => kind !== 'guest'), ...guests])).toEqual([]);
    }
  });
});

/** Numbers below `most` (Numerical Recipes' linear congruence). */
function linear(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % most;
  };
}

/** Few addresses for many guests, so that much hangs together; nearly half of the nodes off, so that quorum hangs on few. */
function largeCluster(size: number, random: (most: number) => number): RadiusFacts {
  const offline = Math.floor((size - 1) / 2) - random(2);
  const some = () => Array.from({ length: random(3) }, () => address(random(40)));
  const unique = (list: readonly string[]) => [...new Set(list)];
  const storages = Array.from({ length: 12 }, (_, index) => ({
    storage: `s${index}`,
    shared: index > 3,
    servers: index > 5 ? unique(some()) : [],
  }));
  return {
    clustered: true,
    nodes: Array.from({ length: size }, (_, index) => ({
      ...{ node: `n${String(index).padStart(3, '0')}`, online: index >= offline, votes: 1, memory: 32 + random(64) },
      addresses: random(4) === 0 ? unique(some()) : [],
    })),
    guests: Array.from({ length: size * 2 }, (_, index) => ({
      ...{
        vmid: 100 + index,
        node: `n${String(random(size)).padStart(3, '0')}`,
        running: random(5) > 0,
        memory: 1 + random(24),
        ha: random(3) === 0,
      },
      ...{ addresses: random(5) === 0 ? unique(some()) : [], gateways: unique(some()), resolvers: unique(some()) },
      storages: storages.filter(() => random(8) === 0).map(({ storage }) => storage),
    })),
    rules: Array.from({ length: size / 5 }, (): PlacementRule => {
      const guests = [...new Set(Array.from({ length: 1 + random(4) }, () => 100 + random(size * 2)))];
      const nodes = new Map(Array.from({ length: 1 + random(4) }, () => [`n${String(random(size)).padStart(3, '0')}`, random(3)] as const));
      return (
        [
          { kind: 'nodes', guests, nodes, strict: random(2) === 0 } as const,
          { kind: 'together', guests } as const,
          { kind: 'apart', guests } as const,
        ][random(3)] ?? { kind: 'apart', guests }
      );
    }),
    storages,
  };
}
