/**
 * A network that falls apart: the primary, a Sentinel and a machine with agents on one side, two replicas, two Sentinels and another machine on the
 * other. Each side is a network namespace of its own; what joins them are relays, and the cut stops those in the middle of what they carry.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Child, startChild } from './child-process.ts';
import { startIsland, whyNoNamespaces } from './namespaces.ts';
import { type Sentinel, startSentinel, untilCopied } from './valkey-groups.ts';
import { startValkey, type ValkeyServer } from './valkey-server.ts';

const why = whyNoNamespaces();
const patience = { timeout: 240_000, interval: 100 };
/** Replicas have half of it. A slow machine must not look like the cut. */
const answerMs = '12000';

interface Sides {
  readonly servers: readonly [ValkeyServer, ValkeyServer, ValkeyServer];
  readonly sentinels: readonly Sentinel[];
  readonly near: readonly string[];
  readonly far: readonly string[];
  readonly url: string;
  /** What leads from the far side to the primary. */
  readonly cable: Child;
  cut(): void;
  mend(): void;
}

describe.skipIf(why !== undefined)(`a cut network${why === undefined ? '' : ` (skipped: ${why})`}`, { timeout: 900_000 }, () => {
  let sides: Sides;
  beforeEach(async () => {
    sides = await startSides();
  }, 300_000);
  afterEach(async () => {
    for (const sentinel of sides.sentinels) await sentinel.close();
    for (const server of sides.servers) await server.close();
  });

  it('runs nothing twice, and what was done on the side that lost is said and stands in the trail', async () => {
    const [lost, kept] = [
      startChild('approve-and-claim', [sides.url, 'near', answerMs], sides.near),
      startChild('approve-and-claim', [sides.url, 'far', answerMs], sides.far),
    ];
    expect([await lost.line(), await kept.line()]).toEqual(['ready', 'ready']);
    lost.send('approve 4');
    const grants: string[] = [];
    for (let line = await lost.line(); line !== 'done'; line = await lost.line())
      if (line.startsWith('approved ')) grants.push(line.replace('approved ', ''));
    expect(grants).toHaveLength(4);
    const [first = '', second = '', third = '', fourth = ''] = grants;
    const ran: string[] = [];
    const claim = async (child: Child, grant: string): Promise<string> => {
      child.send(`claim ${grant}`);
      const [word = '', id = '', reason = ''] = (await child.line()).split(' ');
      if (word === 'ran') ran.push(id);
      return `${word} ${reason}`.trim();
    };
    /** As long as nothing was done. */
    const claimed = (child: Child, grant: string): Promise<string> =>
      vi.waitFor(async () => {
        const said = await claim(child, grant);
        if (/store_(unavailable|read_only)/.test(said)) throw new Error(said);
        return said;
      }, patience);

    // It was under way when the others could not be heard any more: done there, and worth nothing.
    expect(await atTheCut(sides, first, () => claim(lost, first))).toBe('fault store_unconfirmed');
    expect(await claim(lost, second)).toBe('fault store_unavailable');
    await promoted(sides);
    expect(await claimed(kept, first)).toBe('ran');
    expect(await claimed(kept, second)).toBe('ran');
    // Still cut off.
    expect(await claim(lost, third)).toBe('fault store_unavailable');

    sides.mend();
    const [before] = sides.servers;
    await vi.waitFor(async () => expect(await before.operator.info('replication')).toContain('role:slave'), patience);
    for (const grant of [first, second]) expect(await claimed(lost, grant)).toMatch(/^refused consumed$/);
    expect(await claimed(lost, third)).toBe('ran');
    expect(await claimed(kept, third)).toBe('refused consumed');
    expect(await claimed(kept, fourth)).toBe('ran');
    expect(new Set(ran).size).toBe(ran.length);
    expect(new Set(ran)).toEqual(new Set(grants.map((grant) => grant.split(' ')[0])));

    const [id] = first.split(' ');
    const [, , replica] = sides.servers;
    await vi.waitFor(async () => {
      lost.send('house');
      await lost.line();
      const records = (await replica.operator.zrange('molis:log:events', 0, -1)).map(
        (text) => JSON.parse(text) as { name: string; attributes: Record<string, unknown> },
      );
      const used = records.filter(({ name, attributes }) => name === 'approval.consumed' && attributes['request_id'] === id);
      expect(used).toHaveLength(2);
      expect(used.filter(({ attributes }) => attributes['confirmed'] === false)).toHaveLength(1);
    }, patience);
  });
});

async function startSides(): Promise<Sides> {
  const [near, far] = [await startIsland(), await startIsland()];
  const primary = await startValkey({ wrap: near });
  const cables: Child[] = [];
  const join = async (wrap: readonly string[], socket: string, port: number): Promise<Child> => {
    const cable = startChild('relay', [socket, String(port)], wrap);
    cables.push(cable);
    await cable.line();
    return cable;
  };
  const toPrimary = await join(far, `${primary.folder}/server.sock`, primary.port);
  const [one, other] = [await startValkey({ wrap: far, replicaOf: primary }), await startValkey({ wrap: far, replicaOf: primary })];
  for (const replica of [one, other]) {
    await join(near, `${replica.folder}/server.sock`, replica.port);
    await untilCopied(replica);
  }
  const sentinels = [
    await startSentinel(primary, { wrap: near }),
    await startSentinel(primary, { wrap: far }),
    await startSentinel(primary, { wrap: far }),
  ];
  for (const [at, { socket, port }] of sentinels.entries()) await join(at === 0 ? far : near, socket, port);
  await vi.waitFor(async () => {
    for (const { client } of sentinels) {
      const fields = (await client.call('SENTINEL', 'MASTER', 'banksman')) as readonly string[];
      const of = (name: string): string | undefined => fields[fields.indexOf(name) + 1];
      if (of('num-other-sentinels') !== '2' || of('num-slaves') !== '2')
        throw new Error(`not joined: ${of('num-other-sentinels')}, ${of('num-slaves')}`);
    }
  }, patience);
  return {
    servers: [primary, one, other],
    sentinels,
    near,
    far,
    cable: toPrimary,
    url: `valkey+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/0?master=banksman&replicas=1`,
    cut: () => {
      for (const cable of cables) cable.pause();
    },
    mend: () => {
      for (const cable of cables) cable.resume();
    },
  };
}

/** The replicas have said that they have all that there is now. */
async function inStep({ operator }: ValkeyServer): Promise<void> {
  await vi.waitFor(async () => {
    const info = await operator.info('replication');
    const written = /master_repl_offset:(\d+)/.exec(info)?.[1];
    const copied = [...info.matchAll(/slave\d:.*offset=(\d+)/g)].map(([, offset]) => offset);
    if (copied.length < 2 || copied.some((offset) => offset !== written)) throw new Error('they lag');
  }, patience);
}

/**
 * What a claim says that was under way at the cut: the replicas have been found to follow, and what it changed does not come to them any more. Meanwhile
 * nobody is to be promoted.
 */
async function atTheCut({ sentinels, servers, cable, cut }: Sides, grant: string, claim: () => Promise<string>): Promise<string> {
  for (const sentinel of sentinels) sentinel.pause();
  await inStep(servers[0]);
  const [id = ''] = grant.split(' ');
  cable.send(id);
  await cable.line();
  const said = await claim();
  cut();
  for (const sentinel of sentinels) sentinel.resume();
  return said;
}

/** On the far side, as both of its Sentinels know. */
async function promoted({ sentinels, servers: [before] }: Sides): Promise<void> {
  await vi.waitFor(async () => {
    for (const { client } of sentinels.slice(1)) {
      const [, port] = (await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'banksman')) as readonly string[];
      if (port === String(before.port)) throw new Error('no other primary yet');
    }
  }, patience);
}
