/**
 * *Connect a Cluster…*: address, certificates, token, rights, nodes, ssh, protection, one after the other. Everything is tried before anything is written,
 * and what is written is written at the end: who leaves in the middle leaves nothing behind.
 * SECURITY: a program can press the boxes, but not the dialog that trusts a certificate, and no token goes to who was not trusted there.
 */

import { env } from 'vscode';
import { tokenFromInput } from '#app/clusters/bound-token';
import type { SeenCertificate, TokenRights } from '#app/clusters/new-cluster';
import type { ClusterTrial, FoundNode } from '#app/clusters/try-cluster';
import type { ClusterConfig } from '#app/config/config';
import type { ProtectionSuggestion } from '#kernel/app';
import { Fault, toFault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { asIs, type Message } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { plainLabel } from '../commands/picks.ts';
import { faultWords } from '../fault-words.ts';
import { type ConfirmDeps, confirmRun } from '../gate/confirm-run.ts';
import { inWords, t } from '../l10n.ts';
import { suggestionRow } from './offer-protection.ts';
import { type SshDraft, sshSteps } from './ssh-steps.ts';
import { type ActRow, askRow, askRows, askText, separator, whileLooking } from './steps.ts';
import { type Frame, type Step, type Went, walk } from './walk.ts';

/** In ms. */
const lookMs = 15_000;
/** Characters of a row's smaller line: the editor cuts it where it ends, and shows it whole to who points at it. */
const mostOfDetail = 600;

/** Loaded when somebody connects a cluster: they bring what speaks with clusters. */
const core = () => import('#app/clusters/new-cluster');
const trying = () => import('#app/clusters/try-cluster');

type Known = Pick<ClusterConfig, 'name' | 'endpoints'>;

/** What was found out so far; what is gone back to is asked again, with what was typed. */
interface Draft {
  readonly typed: string;
  /** Of those that can be used. */
  readonly seen: ReadonlyMap<string, SeenCertificate>;
  /** Whether the person was told that they are pinned. */
  readonly pins: boolean;
  /** Why others that were named cannot. */
  readonly leftOut: readonly Fault[];
  readonly tokenId: string;
  readonly secret: string;
  /** The entry of `clusters`. */
  readonly cluster: JsonObject;
  readonly message: Message;
  readonly rights: TokenRights;
  readonly found: readonly FoundNode[];
  /** Of these, what was chosen. */
  readonly chosen: readonly FoundNode[];
  readonly ssh: SshDraft | undefined;
  readonly protect: readonly ProtectionSuggestion[];
}

export interface NewClusterAnswers {
  readonly cluster: JsonObject;
  readonly secret: string;
  readonly ssh: SshDraft | undefined;
  readonly protect: readonly ProtectionSuggestion[];
}

export interface ConnectDeps {
  /** Those that there are. */
  readonly clusters: readonly Known[];
  readonly confirm: ConfirmDeps;
  /** Relative paths of a configuration count from here. */
  readonly baseDir: string;
}

/** undefined: the person left. */
export async function askNewCluster(deps: ConnectDeps): Promise<NewClusterAnswers | undefined> {
  const trials: ClusterTrial[] = [];
  const start: Draft = {
    ...{ typed: '', seen: new Map(), pins: true, leftOut: [], tokenId: '', secret: '', cluster: {}, message: asIs('') },
    ...{ rights: { may: [], lacks: [], commands: [] }, found: [], chosen: [], ssh: undefined, protect: [] },
  };
  try {
    const answers = await walk(t('Connect a Cluster'), stepsOf(deps, trials), start);
    if (answers === undefined) return undefined;
    const { withNodes } = await trying();
    return { ...answers, cluster: withNodes(answers.cluster, answers.chosen) };
  } finally {
    await Promise.all(trials.map((trial) => trial.close()));
  }
}

function stepsOf(deps: ConnectDeps, trials: ClusterTrial[]): readonly Step<Draft>[] {
  return [
    { ask: (draft, frame) => askAddress(draft, frame, deps) },
    { belongsBefore: true, ask: (draft) => trustCertificates(draft, deps) },
    { ask: askTokenId },
    { ask: (draft, frame) => askSecret(draft, frame, { ...deps, trials }) },
    { ask: (draft, frame) => showRights(draft, frame, trials) },
    { isDue: ({ found }) => found.length > 0, ask: askNodes },
    ...sshSteps<Draft>({ ...deps, addresses: (signal) => lastOf(trials).addresses(signal) }),
    { ask: (draft, frame) => askProtection(draft, frame, trials) },
  ];
}

function lastOf(trials: readonly ClusterTrial[]): ClusterTrial {
  const last = trials.at(-1);
  if (last === undefined) throw new Fault('not_tried', 'nothing was asked of the cluster yet');
  return last;
}

function limited(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(lookMs)]);
}

async function askAddress(draft: Draft, frame: Frame, { clusters }: ConnectDeps): Promise<Went<Draft>> {
  const { checkAddresses, examples, lookAtCertificates } = await core();
  return askText(frame, {
    prompt: t('Address of a node, or of several with commas between them. The port is 8006 where none is named.'),
    placeHolder: examples.addresses,
    value: draft.typed,
    check: (text) => flawOf(checkAddresses(text.trim(), clusters)),
    accept: async (text, signal) => {
      const found = checkAddresses(text.trim(), clusters);
      const endpoints = 'value' in found ? found.value : [];
      const looked = await lookAtCertificates(endpoints, limited(signal));
      const [first] = looked.leftOut;
      if (looked.seen.size === 0 && first !== undefined) throw first;
      return { ...draft, typed: text, ...looked };
    },
  });
}

function flawOf(found: { readonly flaw: string } | object): string | undefined {
  return 'flaw' in found ? t('That will not do: {0}', found.flaw) : undefined;
}

/** The one question of the assistant that decides whom a token is shown to. */
async function trustCertificates(draft: Draft, { confirm }: ConnectDeps): Promise<Went<Draft>> {
  const { needPins, showFingerprint } = await core();
  const { checkProxmox } = await trying();
  const pins = needPins(draft.seen);
  const how = pins
    ? t(
        'Compare each with what the node itself prints, on its own console and not over this network:\n{0}\nIf one differs, somebody is in between: do not go on.',
        showFingerprint.replaceAll('`', ''),
      )
    : t('A public authority vouches for it and for this name. It is not pinned, so that it can be renewed.');
  const trusts = await confirmRun(
    {
      key: 'trust certificates',
      title: draft.seen.size === 1 ? t('Trust this certificate from now on?') : t('Trust these certificates from now on?'),
      detail: [
        ...[...draft.seen].map(([endpoint, one]) => certificateWords(endpoint, one)),
        ...draft.leftOut.map((fault) => t('Left out: {0}', showPlainly(faultWords(fault), mostOfDetail))),
        how,
      ].join('\n\n'),
      stay: t('Do Not Trust'),
      proceed: t('Trust and Go On'),
    },
    confirm,
  );
  if (!trusts) return 'back';
  const usable = new Map<string, SeenCertificate>();
  for (const [endpoint, shown] of draft.seen) {
    const failed = await checkProxmox(endpoint, pins ? shown.fingerprint : undefined, AbortSignal.timeout(lookMs)).catch(toFault);
    if (failed === undefined) usable.set(endpoint, shown);
    else confirm.dialogs.tell('error', t('Left out: {0}', faultWords(failed)));
  }
  return usable.size === 0 ? 'back' : { value: { ...draft, seen: usable, pins } };
}

/** Sixteen pairs a line: the eye finds its place again. */
function certificateWords(endpoint: string, { fingerprint, subject, issuer, validTo }: SeenCertificate): string {
  const lines = fingerprint.match(/.{1,48}/g) ?? [];
  const plain = (text: string) => showPlainly(text.replaceAll('\n', ', '), 120);
  const about = t(
    '{0} shows the certificate of {1}, made by {2}, valid to {3}. SHA-256:',
    endpoint,
    plain(subject),
    plain(issuer),
    plain(validTo),
  );
  return `${about}\n${lines.map((line) => line.replace(/:$/, '')).join('\n')}`;
}

async function askTokenId(draft: Draft, frame: Frame): Promise<Went<Draft>> {
  const { checkTokenId, examples, tokenCommands } = await core();
  const asked = await askText(frame, {
    prompt: t('Id of an API token, as user@realm!name. Leave it empty to copy the commands that make one which only looks.'),
    placeHolder: examples.tokenId,
    value: draft.tokenId,
    check: (text) => {
      if (text.trim() === '') return undefined;
      if (text.includes('=')) return t('Only the id, up to the “=”: its secret is asked for next, in a box that does not show it');
      return flawOf(checkTokenId(text.trim()));
    },
    accept: async (text) => {
      if (text.trim() !== '') return { ...draft, tokenId: text.trim() };
      await env.clipboard.writeText(`${tokenCommands.join('\n')}\n`);
      throw new Fault('no_token_yet', t('The commands are in the clipboard'), {
        next: t('run them on a node as root; the third prints the secret, once. Then type the id here'),
      });
    },
  });
  return asked;
}

interface SecretDeps extends ConnectDeps {
  readonly trials: ClusterTrial[];
}

async function askSecret(draft: Draft, frame: Frame, deps: SecretDeps): Promise<Went<Draft>> {
  const { checkSecret, examples } = await core();
  return askText(frame, {
    prompt: t(
      'Secret of {0}: a UUID, which Proxmox VE showed once. It is kept in the editor’s secret storage, and goes to {1} alone.',
      draft.tokenId,
      [...draft.seen.keys()].join(', '),
    ),
    placeHolder: examples.secret,
    password: true,
    check: (text) => flawOf(checkSecret(tokenFromInput(text) ?? text, draft.tokenId)),
    accept: async (text, signal) => {
      const found = checkSecret(tokenFromInput(text) ?? text, draft.tokenId);
      const secret = 'value' in found ? found.value : '';
      return tried({ ...draft, secret }, deps, limited(signal));
    },
  });
}

/** Asks the cluster with the token. @throws {Fault} why it cannot */
async function tried(draft: Draft, { clusters, baseDir, trials }: SecretDeps, signal: AbortSignal): Promise<Draft> {
  const { nameFor, pinning } = await core();
  const { apiPort, lookAtNode, tryCluster } = await trying();
  const endpoints = [...draft.seen.keys()];
  const name = nameFor(
    endpoints[0] ?? '',
    clusters.map((one) => one.name),
  );
  const cluster = { name, endpoints, tokenId: draft.tokenId, ...pinning(draft.seen, draft.pins) };
  const trial = await tryCluster(cluster, draft.secret, baseDir);
  trials.push(trial);
  const { message, rights } = await trial.look(signal);
  // Names that public authorities vouch for are not what the cluster calls its nodes.
  const others = cluster.tls === undefined ? [] : await trial.otherNodes(signal);
  const found = await Promise.all(others.map((other) => lookAtNode(other, apiPort(cluster), signal)));
  return { ...draft, cluster, message, rights, found, chosen: [] };
}

async function showRights(draft: Draft, frame: Frame, trials: readonly ClusterTrial[]): Promise<Went<Draft>> {
  let now = draft;
  return askRow<Draft>(frame, {
    placeHolder: t('{0}. What the token may do:', showPlainly(inWords(draft.message), 200)),
    rows: () => {
      const { lacks, may, commands } = now.rights;
      const missing = lacks.map(({ group, tools, missing: rights }) => ({
        label: `$(circle-slash) ${group}`,
        description: plainLabel(tools.join(', '), mostOfDetail),
        detail: t('needs {0}', plainLabel(rights.join(', '))),
      }));
      const held = may.map((group) => ({ label: `$(check) ${group}` }));
      return [
        {
          label: t('$(arrow-right) Go On'),
          detail: lacks.length === 0 ? t('Every group of tools can be used') : t('What is missing can be granted later, too'),
          act: async () => ({ value: now }),
        },
        ...(commands.length === 0
          ? []
          : grantRows(commands, async (signal) => {
              now = { ...now, ...(await lastOf(trials).look(limited(signal))) };
            })),
        ...(missing.length === 0 ? [] : [separator(t('cannot be used')), ...missing]),
        ...(held.length === 0 ? [] : [separator(t('can be used')), ...held]),
      ];
    },
  });
}

function grantRows(commands: readonly string[], again: (signal: AbortSignal) => Promise<void>): readonly ActRow<Draft>[] {
  return [
    {
      label: t('$(copy) Copy the Commands That Grant What Is Missing'),
      detail: t('Run them as root on a node. Where privileges are separated, its user needs the same'),
      act: async () => {
        await env.clipboard.writeText(`${commands.join('\n')}\n`);
        return undefined;
      },
    },
    { label: t('$(refresh) Check Again'), act: async (signal) => again(signal).then(() => undefined) },
  ];
}

async function askNodes(draft: Draft, frame: Frame): Promise<Went<Draft>> {
  const words = {
    same: t('its cluster vouches for it: is pinned'),
    other: t('is left out, whatever is chosen'),
    away: t('does not answer now: is pinned all the same'),
  };
  const rows = draft.found.map((found) => ({
    label: plainLabel(found.node),
    description: plainLabel([found.endpoint, words[found.shows]].filter((part) => part !== undefined).join(' · ')),
    // Whole: a fingerprint that is cut says nothing.
    detail: plainLabel([found.vouched, found.note].filter((part) => part !== undefined && part !== '').join('; '), mostOfDetail),
    picked: found.shows === 'same',
    found,
  }));
  const asked = await askRows(frame, t('Other nodes of the cluster: with them it is reached while one is down'), rows);
  if (asked === undefined || asked === 'back') return asked;
  return { value: { ...draft, chosen: asked.value.map(({ found }) => found) } };
}

async function askProtection(draft: Draft, frame: Frame, trials: readonly ClusterTrial[]): Promise<Went<Draft>> {
  const found = await whileLooking(t('Looking for what to protect'), () => lastOf(trials).suggestions(AbortSignal.timeout(lookMs)));
  if (found.length === 0) return { value: { ...draft, protect: [] } };
  const placeHolder = t('Agents should probably not touch these');
  const asked = await askRows(frame, placeHolder, found.map(suggestionRow));
  if (asked === undefined || asked === 'back') return asked;
  return { value: { ...draft, protect: asked.value.map(({ suggestion }) => suggestion) } };
}
