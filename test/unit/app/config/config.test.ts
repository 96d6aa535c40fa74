import { describe, expect, it } from 'vitest';
import { type Config, parseConfig } from '#app/config/config';
import { policySettings } from '#app/config/policy-settings';
import { Fault } from '#kernel/errors';

const cluster = { name: 'lab', endpoints: ['https://10.0.0.11:8006'], tokenId: 'ops@pve!banksman' };
const print = Array.from({ length: 32 }, () => 'ab').join(':');
const parse = (raw: unknown): Config => parseConfig(raw, 'config.json');

function messageOf(raw: unknown): string {
  try {
    parse(raw);
  } catch (thrown) {
    // Anything else than the one kind of fault fails the test that asked.
    if (thrown instanceof Fault && thrown.code === 'bad_config') return thrown.message;
    throw thrown;
  }
  throw new Error(`accepted: ${JSON.stringify(raw)}`);
}
const withCluster = (more: object) => ({ clusters: [{ ...cluster, ...more }] });

describe('a configuration', () => {
  it('may be empty: everything has a default', () => {
    expect(parse({})).toEqual({
      clusters: [],
      protected: {
        nodes: [],
        guests: [],
        services: [],
        addresses: [],
        tags: [],
        pools: [],
        names: [],
        deleteUnsaved: false,
        protectReads: false,
      },
      roles: [],
      sinks: [],
      scopes: [],
      windows: [],
      securityLevel: 'balanced',
      defaultModelTier: 'intermediate',
      tiers: {},
      approvers: [],
      approvals: { who: {}, outside: [], ownUser: true },
      commandRules: [],
      hooks: { shell: 'through-run' },
      store: 'sqlite:',
      workspace: { root: '.', requireSandbox: false, undo: { bytes: 5 * 2 ** 30, days: 14 } },
      limits: { callMs: 60_000, apiMs: 15_000, sshMs: 30_000, slowMs: 10_000 },
      approvalWait: { editor: 120_000, mcp: 40_000, cli: 0 },
    });
  });

  it.each([
    { origin: 'http://localhost' },
    { origin: 'http://localhost:779' },
    { origin: 'http://localhost:18443', demo: true },
    { origin: 'https://banksman', host: '10.0.0.5', certFile: 'c.pem', keyFile: 'k.pem' },
    { origin: 'https://banksman.home.arpa:8443', host: '::1', certFile: 'c.pem', keyFile: 'k.pem' },
  ])('takes the page %j', (page) => {
    expect(parse({ page }).page).toEqual(page);
  });

  it('with everything in it is taken whole', () => {
    const config = parse({
      clusters: [
        {
          ...cluster,
          endpoints: ['https://10.0.0.11:8006', 'https://10.0.0.12:8006'],
          tokenFile: '~/.config/banksman/lab.token',
          tls: { fingerprint: print },
          ssh: { user: 'root', agent: true, nodes: { pve: { host: '10.0.0.12', aliases: ['pve.lan'] } } },
          wake: { via: ['pve', 'http', 'packet'], http: 'http://192.168.1.65:3005/wake/{node}', mac: { pve: 'aa:bb:cc:dd:ee:ff' } },
        },
      ],
      protected: { nodes: ['agent1'], guests: [103], services: ['docker'], addresses: ['::ffff:192.168.1.61', 'FD00::1'] },
      tiers: { restart_service: 'red' },
      approvers: [{ name: 'ops-laptop', key: `ed25519:${'A'.repeat(43)}` }],
    });
    expect(config.clusters[0]?.tls).toEqual({ fingerprint: print.toUpperCase() });
    expect(config.clusters[0]?.ssh?.nodes['pve']).toEqual({ host: '10.0.0.12', port: 22, aliases: ['pve.lan'] });
    expect(config.protected.addresses).toEqual(['192.168.1.61', 'fd00::1']);
  });

  it.each<[string, unknown]>([
    ['one fingerprint', { fingerprint: print }],
    ['one per endpoint', { fingerprint: { 'https://10.0.0.11:8006': print } }],
    ['a CA file', { caFile: 'ca.pem' }],
  ])('trusts by %s', (_what, tls) => {
    expect(parse(withCluster({ tls })).clusters[0]?.tls).toBeDefined();
  });
});

describe('there is no way to switch verification off', () => {
  it.each([
    false,
    null,
    'off',
    0,
    {},
    { verify: false },
    { rejectUnauthorized: false },
    { fingerprint: '' },
    { fingerprint: '*' },
    { fingerprint: print.slice(3) },
    { fingerprint: null },
    { caFile: '' },
    { fingerprint: print, verify: false },
    { fingerprint: print, caFile: 'ca.pem' },
  ])('tls %j', (tls) => {
    const message = messageOf(withCluster({ tls }));
    expect(message).toContain('config.json: `clusters.0.tls');
  });

  it('says what is allowed instead', () => {
    expect(messageOf(withCluster({ tls: { verify: false } }))).toMatch(
      /must be `\{ "fingerprint".*cannot be switched off; found `\{"verify":false\}`/,
    );
  });

  it.each(['http://10.0.0.11:8006', 'HTTP://x', 'ftp://x', '10.0.0.11:8006', '//10.0.0.11', '', 'file:///etc/passwd'])(
    'endpoint `%s`',
    (endpoint) => {
      expect(messageOf(withCluster({ endpoints: [endpoint] }))).toContain('`clusters.0.endpoints.0`: must be an https URL such as');
    },
  );
});

describe('a bad configuration', () => {
  it.each<[string, unknown, RegExp]>([
    ['no object', [], /`\(top level\)`: .*found `\[\]`/],
    ['an unknown key', { foo: 1 }, /`\(top level\)`: unknown key `foo`; allowed here: clusters, protected, .*approvalWait/],
    [
      'an unknown key in a cluster',
      withCluster({ foo: 1 }),
      /`clusters\.0`: .*allowed here: name, endpoints, tokenId, tokenFile, tls, ssh, wake/,
    ],
    [
      'an unknown key of a node',
      withCluster({ ssh: { nodes: { pve: { host: 'h', x: 1 } } } }),
      /`clusters\.0\.ssh\.nodes\.pve`: .*host, port, aliases/,
    ],
    ['no endpoint', withCluster({ endpoints: [] }), /`clusters\.0\.endpoints`/],
    ['two clusters of one name', { clusters: [cluster, cluster] }, /two are named `lab`/],
    ['a level', { securityLevel: 'yolo' }, /`securityLevel`: .*`relaxed`, `balanced`, `strict`; found `"yolo"`/],
    [
      'a tool',
      { tiers: { stop_vm: 'black', banksman_stop_vm: 'black' } },
      /`tiers`: no tool is named `banksman_stop_vm`; allowed: .*stop_vm, /,
    ],
    ['a tier', { tiers: { stop_vm: 'pink' } }, /`tiers\.stop_vm`: must be one of `green`, `yellow`, `red`, `black`/],
    ['a limit above the default', { limits: { callMs: 60_001 } }, /`limits\.callMs`: .*60000; found `60001`/],
    ['no limit', { limits: { callMs: 0 } }, /`limits\.callMs`/],
    ...[
      { origin: 'http://127.0.0.1:779' },
      { origin: 'http://localhost:779/' },
      { origin: 'http://localhost:80' },
      { origin: 'http://banksman.lan' },
      { origin: 'https://banksman.lan' },
      ...['https://10.0.0.5', 'https://[fd00::1]', 'https://Banksman.lan', 'https://banksman.lan:443', 'https://banksman.lan/x'].map(
        (origin) => ({
          ...{ origin, certFile: 'c', keyFile: 'k' },
        }),
      ),
      { origin: 'https://banksman.lan', certFile: 'c', keyFile: 'k', demo: true },
    ].map((page): [string, unknown, RegExp] => [`a page of ${JSON.stringify(page)}`, { page }, /`page(?:\.origin)?`: must be /]),
    ['a wait', { approvalWait: { mcp: -1 } }, /`approvalWait\.mcp`/],
    ['a guest that is text', { protected: { guests: ['103'] } }, /`protected\.guests\.0`: .*found `"103"`/],
    [
      'a node that is an address',
      { protected: { nodes: ['192.168.1.61'] } },
      /`protected\.nodes\.0`: must be a node’s own name.*addresses go into/,
    ],
    ['a node with its domain', { protected: { nodes: ['agent1.lan'] } }, /must be a node’s own name/],
    ['a subnet', { protected: { addresses: ['192.168.1.0/24'] } }, /`protected\.addresses\.0`: must be one IPv4 or IPv6 address/],
    ['a bare number', { protected: { addresses: ['61'] } }, /must be one IPv4 or IPv6 address/],
    ['an address with a port', { protected: { addresses: ['192.168.1.61:22'] } }, /must be one IPv4 or IPv6 address/],
    [
      'a service without a node',
      { protected: { services: [{ name: 'docker' }] } },
      /`protected\.services\.0`: must be a unit name such as `docker`, or/,
    ],
    [
      'a service on a node by address',
      { protected: { services: [{ name: 'docker', node: '192.168.1.60' }] } },
      /`protected\.services\.0\.node`: must be a node’s own name/,
    ],
    ['a store', { store: 'redis://h' }, /`store`: must start with `sqlite:`/],
    ['an approver without a key', { approvers: [{ name: 'x', key: 'rsa:AAAA' }] }, /`approvers\.0\.key`: must be `ed25519:`/],
    ['a wake-up URL without a node', withCluster({ wake: { http: 'http://h/wake' } }), /`clusters\.0\.wake\.http`: must hold `\{node\}`/],
    ['a MAC address', withCluster({ wake: { mac: { pve: 'zz' } } }), /`clusters\.0\.wake\.mac\.pve`: must be a MAC address/],
    ['a token without its name', withCluster({ tokenId: 'ops@pve' }), /`clusters\.0\.tokenId`: must be `user@realm!tokenname`/],
  ])('with %s names the field, what was found and what is allowed', (_what, raw, message) => {
    expect(messageOf(raw)).toMatch(message);
  });

  it('names a few faults at a time', () => {
    expect(messageOf({ protected: { guests: Array.from({ length: 20 }, () => 'x') } }).split(' | ')).toHaveLength(5);
  });

  it.each<[string, unknown]>([
    ['a whole token as its id', withCluster({ tokenId: 'ops@pve!banksman=SECRET90-ab12-4cde-8f01-234567890abc' })],
    ['a token of another form', withCluster({ tokenId: 'ops@pve!banksman=SECRET' })],
    ['a private key as an approver', { approvers: [{ name: 'x', key: `ed25519-private:SECRET${'A'.repeat(58)}` }] }],
    ['a PEM key as an approver', { approvers: [{ name: 'x', key: '-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----' }] }],
    ['a password in the store', { store: 'redis://:SECRET@h' }],
    ['a password in an endpoint', withCluster({ endpoints: ['https://root:SECRET@h'] })],
    ['a secret under an unknown key', { token: 'SECRET' }],
    ['a secret beside a wrong value', withCluster({ tls: { fingerprint: '', password: 'SECRET' } })],
    ['a secret in a wrong object', { approvers: { apiToken: 'SECRET' } }],
  ])('with %s does not echo it', (_what, raw) => {
    expect(messageOf(raw)).not.toContain('SECRET');
  });
});

describe('the policy’s version', () => {
  const version = (raw: object, app = '1') => policySettings(parse(raw), app).version;

  it('changes with whatever decides, and with nothing else', () => {
    const base = version({});
    const others = [
      version({ securityLevel: 'strict' }),
      version({ tiers: { get_vms: 'red' } }),
      version({ protected: { guests: [103] } }),
      version({ protected: { protectReads: true } }),
      version({}, '2'),
    ];
    expect(new Set([base, ...others]).size).toBe(6);
    expect(base).toMatch(/^[0-9a-f]{16}$/);
    expect(version({ clusters: [cluster], limits: { callMs: 50 }, approvers: [] })).toBe(base);
  });

  it('is not the order of keys', () => {
    expect(version({ tiers: { get_vms: 'red', wake_node: 'black' } })).toBe(version({ tiers: { wake_node: 'black', get_vms: 'red' } }));
  });
});
