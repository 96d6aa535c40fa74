/** Certificates and membership: `/nodes/{node}/certificates/info`, `/cluster/config/{join,nodes,totem}`. */
import { createHash, X509Certificate } from 'node:crypto';
import { shuffled } from '../../random.ts';
import { failed } from '../api-error.ts';
import type { ApiCall, ApiMethod } from '../api-method.ts';
import type { Cluster } from '../cluster.ts';
import type { NodeState } from '../state.ts';

const audit = { path: '/', privileges: ['Sys.Audit'] } as const;

export const certificateMethods: readonly ApiMethod[] = [
  { verb: 'GET', path: '/nodes/{node}/certificates/info', permission: 'all', proxied: true, run: info },
  {
    verb: 'GET',
    path: '/cluster/config/join',
    permission: audit,
    proxied: false,
    parameters: { node: { type: 'string', optional: true, format: 'pve-node' } },
    run: join,
  },
  { verb: 'GET', path: '/cluster/config/nodes', permission: audit, proxied: false, unordered: true, run: members },
  { verb: 'GET', path: '/cluster/config/totem', permission: audit, proxied: false, run: ({ cluster }) => totem(cluster) },
  { verb: 'GET', path: '/cluster/config/apiversion', permission: audit, proxied: false, run: () => 1 },
];

function info({ cluster, node }: ApiCall): unknown {
  const own = cluster.certificates.nodes.get(node)?.certificatePem ?? '';
  const files = [
    ['pve-root-ca.pem', cluster.certificates.authority],
    ['pve-ssl.pem', own],
  ] as const;
  return files.filter(([, pem]) => pem !== '').map(([filename, pem]) => described(filename, pem));
}

function described(filename: string, pem: string): object {
  const certificate = new X509Certificate(pem);
  const seconds = (date: string) => Math.floor(Date.parse(date) / 1000);
  const names = (certificate.subjectAltName ?? '').split(', ').map((one) => one.replace(/^(?:DNS|IP Address):/, ''));
  return {
    filename,
    pem,
    fingerprint: certificate.fingerprint256,
    subject: slashed(certificate.subject),
    issuer: slashed(certificate.issuer),
    notbefore: seconds(certificate.validFrom),
    notafter: seconds(certificate.validTo),
    'public-key-type': certificate.publicKey.asymmetricKeyType === 'rsa' ? 'rsaEncryption' : 'id-ecPublicKey',
    'public-key-bits':
      certificate.publicKey.asymmetricKeyType === 'rsa' ? (certificate.publicKey.asymmetricKeyDetails?.modulusLength ?? 0) : 256,
    san: certificate.subjectAltName === undefined ? [] : names,
  };
}

/** OpenSSL's one-line form of a name: `/OU=PVE Cluster Node/CN=pve`. */
function slashed(name: string): string {
  return name
    .split('\n')
    .map((part) => `/${part}`)
    .join('');
}

function join({ cluster, node: local, parameters }: ApiCall): unknown {
  const preferred = parameters.text('node') ?? local;
  if (!cluster.state.nodes.has(preferred)) throw failed(`unknown node '${preferred}'`);
  const nodelist = [...cluster.state.nodes.values()].map((node) => ({
    ...member(node),
    pve_addr: node.ip,
    pve_fp: cluster.certificates.nodes.get(node.name)?.fingerprint ?? '',
  }));
  return {
    nodelist: shuffled(cluster.random, nodelist),
    config_digest: createHash('sha1').update(JSON.stringify(nodelist)).digest('hex'),
    preferred_node: preferred,
    totem: totem(cluster),
  };
}

/** Corosync's configuration holds text only, numbers too. */
function member({ name, nodeid, ip }: NodeState): object {
  return { name, nodeid: String(nodeid), quorum_votes: '1', ring0_addr: ip };
}

function members({ cluster }: ApiCall): unknown {
  return [...cluster.state.nodes.values()].map((node) => ({ node: node.name, ...member(node) }));
}

function totem(cluster: Cluster): object {
  return {
    version: '2',
    cluster_name: cluster.state.name,
    config_version: String(cluster.state.version),
    interface: { 0: { linknumber: '0' } },
    ip_version: 'ipv4-6',
    link_mode: 'passive',
    secauth: 'on',
  };
}
