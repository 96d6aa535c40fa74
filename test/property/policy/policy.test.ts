import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { catalog } from '#app/catalog';
import type { Effect } from '#kernel/decision';
import type { Resource, Target } from '#kernel/resource';
import { actionTiers, securityLevels } from '#kernel/tiers';
import type { Tool } from '#kernel/tool';
import { classify } from '#pipeline/decide-call';
import { decideTier, effectiveTier } from '#policy/classify';
import { deriveProtection, type ProtectedList, protectLiteral, protectTarget } from '#policy/protected-resources';
import { type Inventory, resolveTarget } from '#policy/resolve-target';
import { decideServiceUnit, unitName } from '#policy/service-units';
import { decideSshCommand } from '#policy/ssh/decide-ssh-command';

const strictness: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };
const tier = fc.constantFrom(...actionTiers);
const level = fc.constantFrom(...securityLevels);
const tool: fc.Arbitrary<Tool> = fc.constantFrom(...catalog);

const list: ProtectedList = {
  nodes: ['agent1'],
  guests: [103],
  services: [{ name: 'docker', node: '*' }],
  addresses: ['192.168.1.61', 'fd00::61'],
  protectReads: false,
};
const aliases = new Map([['agent1', ['mgmt.lan', '10.9.9.9']]]);

describe('strictness', () => {
  it('a stricter level or a configured tier never allows more', () => {
    fc.assert(
      fc.property(tool, fc.tuple(tier, tier), fc.tuple(level, level), (declared, [a, b], [x, y]) => {
        const [low, high] = [x, y].toSorted((p, q) => securityLevels.indexOf(p) - securityLevels.indexOf(q)) as [typeof x, typeof x];
        const effectAt = (configured: Record<string, typeof a>, at: typeof x) =>
          strictness[decideTier(declared.name, effectiveTier(declared.name, declared.tier, configured), at).effect];
        const [mild, hard] = [a, b].toSorted((p, q) => actionTiers.indexOf(p) - actionTiers.indexOf(q)) as [typeof a, typeof a];
        expect(effectAt({ [declared.name]: hard }, high)).toBeGreaterThanOrEqual(effectAt({ [declared.name]: mild }, low));
        expect(effectAt({ [declared.name]: a }, x)).toBeGreaterThanOrEqual(effectAt({}, x));
      }),
    );
  });

  it('no target makes a call more permissive than its tier', async () => {
    const command = fc.oneof(fc.string(), fc.constantFrom('uptime', 'df -h', 'hostname'));
    const targets = fc.array(
      fc.oneof(
        command.map((text): Target => ({ kind: 'command', access: 'operate', surface: 'ssh', text })),
        fc
          .string()
          .map((service): Target => ({ kind: 'service', access: 'operate', cluster: 'lab', node: 'pve', service: unitName(service) })),
      ),
      { maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(tool, tier, level, targets, async (declared, at, securityLevel, touched) => {
        const settings = {
          securityLevel,
          rules: async () => [],
          protectedList: list,
          roles: [],
          scopes: [],
          windows: [],
          tiers: {},
          requireSandbox: false,
          decideSsh: async (text: string) => decideSshCommand(text),
          version: '1',
        };
        const agent = { id: 'cli:ann', host: 'cli', modelTier: 'advanced' } as const;
        const { decision } = await classify({ tool: declared, input: {}, resources: [], tier: at, targets: touched }, agent, {
          settings,
        });
        expect(strictness[decision.effect]).toBeGreaterThanOrEqual(strictness[decideTier(declared.name, at, securityLevel).effect]);
      }),
    );
  });
});

/** Other ways to write the same address. */
function addressSpellings(dotted: string): readonly string[] {
  const bytes = dotted.split('.').map(Number);
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const number = a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d;
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0'));
  const mapped = `::ffff:${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
  return [
    dotted,
    `${dotted}.`,
    ` ${dotted} `,
    `${number}`,
    `0x${number.toString(16)}`,
    `0${number.toString(8)}`,
    bytes.map((byte) => `0x${byte.toString(16)}`).join('.'),
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${b * 65_536 + c * 256 + d}`,
    `::ffff:${dotted}`,
    mapped,
    mapped.toUpperCase(),
    `[${mapped}]`,
    `${mapped}%eth0`,
    `0:0:0:0:0:ffff:${dotted}`,
  ];
}

const recased = (text: string) =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }).map((flips) =>
    text
      .split('')
      .map((char, i) => (flips[i] ? char.toUpperCase() : char))
      .join(''),
  );

const protectedNodeName = fc.oneof(
  recased('agent1'),
  recased('agent1').map((name) => `${name}.`),
  fc.tuple(recased('agent1'), fc.domain()).map(([name, domain]) => `${name}.${domain}`),
  recased('mgmt.lan'),
  recased('mgmt.lan.'),
  fc.constantFrom(
    ...addressSpellings('192.168.1.61'),
    ...addressSpellings('10.9.9.9'),
    'FD00::61',
    'fd00:0:0:0:0:0:0:61',
    '[fd00::0061]',
    'fd00::61%vmbr0',
  ),
);

describe('protection', () => {
  it('of a node holds for every spelling, and for everything on it', () => {
    fc.assert(
      fc.property(protectedNodeName, fc.integer({ min: 100 }), fc.string(), (node, vmid, service) => {
        const resources: Resource[] = [
          { kind: 'node', access: 'operate', node },
          { kind: 'guest', access: 'operate', vmid, node },
          { kind: 'service', access: 'operate', node, service },
        ];
        for (const resource of resources)
          expect(protectLiteral(resource, list, aliases), node).toMatchObject({ effect: 'deny', code: 'protected_resource' });
      }),
      { numRuns: 1_000 },
    );
  });

  it('of an address holds for every way to write it', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const only = { ...list, nodes: [], addresses: [address] };
        for (const host of addressSpellings(address)) {
          expect(protectLiteral({ kind: 'destination', access: 'read', host }, only, new Map()), host).toMatchObject({ effect: 'deny' });
        }
      }),
    );
  });

  it('of a service holds for every case and unit suffix', () => {
    const suffix = fc.constantFrom('', '.service', '.socket', '.timer', '.path', '.target', '.Service', '.SOCKET');
    fc.assert(
      fc.property(recased('docker'), suffix, fc.constantFrom('pve', 'Home'), (name, ending, node) => {
        expect(protectLiteral({ kind: 'service', access: 'operate', node, service: `${name}${ending}` }, list, aliases)).toMatchObject({
          effect: 'deny',
        });
      }),
    );
  });

  it('of what lives somewhere holds wherever the cluster says that is', () => {
    const node = fc.constantFrom('Home', 'pve', 'agent1');
    const rows = fc.uniqueArray(
      fc.record({ vmid: fc.integer({ min: 100, max: 106 }), node, type: fc.constantFrom('qemu' as const, 'lxc' as const) }),
      {
        selector: (row) => row.vmid,
      },
    );
    fc.assert(
      fc.property(rows, fc.integer({ min: 100, max: 106 }), node, (guests, vmid, named) => {
        const inventory: Inventory = {
          cluster: 'lab',
          nodes: ['Home', 'pve', 'agent1'].map((name) => ({ node: name, online: true, addresses: [], aliases: [] })),
          guests: guests.map((guest) => ({ ...guest, status: 'running' })),
        };
        const derived = deriveProtection(inventory, list);
        const { target } = resolveTarget({ kind: 'guest', access: 'operate', vmid, node: named }, inventory);
        const where = guests.find((guest) => guest.vmid === vmid)?.node;
        const due = vmid === 103 || where === 'agent1' ? 'deny' : 'allow';
        expect(target === undefined ? 'none' : protectTarget(target, list, derived).effect).toBe(where === undefined ? 'none' : due);
        const host = resolveTarget({ kind: 'node', access: 'operate', node: named }, inventory).target;
        const hosts103 = guests.some((guest) => guest.vmid === 103 && guest.node === named);
        expect(host === undefined ? 'none' : protectTarget(host, list, derived).effect).toBe(
          named === 'agent1' || hosts103 ? 'deny' : 'allow',
        );
      }),
    );
  });
});

describe('what runs on a node', () => {
  it('is what was decided: deciding it again allows it and changes nothing', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.tuple(fc.constantFrom('uptime', 'df -h', 'ip addr'), fc.string()).map((parts) => parts.join('')),
        ),
        (text) => {
          const { canonical } = decideSshCommand(text);
          const again = canonical === undefined ? undefined : decideSshCommand(canonical);
          expect(again?.canonical).toBe(canonical);
          expect((canonical ?? '').replace(/'[^']*'/g, '')).not.toMatch(/[&`$<>\n](?!&|dev)/);
        },
      ),
    );
  });

  it('restarts only units that are services, sockets, timers or paths', () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_.@:-]{0,20}$/);
    const kind = fc.constantFrom('', '.service', '.socket', '.target', '.scope', '.slice', '.mount', '.swap', '.device', '.automount');
    fc.assert(
      fc.property(name, kind, (stem, ending) => {
        const unit = unitName(`${stem}${ending}`);
        const allowed = decideServiceUnit(unit).effect === 'allow';
        expect(allowed && !/\.(?:service|socket|timer|path)$/.test(unit)).toBe(false);
        expect(allowed && !['', '.service', '.socket'].includes(ending)).toBe(false);
      }),
    );
  });
});
