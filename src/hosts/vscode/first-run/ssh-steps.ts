/** The assistant's way to the nodes by ssh: optional, with host keys that a person compared, and tried before it counts. */

import type { SshAddress } from '#app/clusters/new-cluster';
import type { SeenHostKey } from '#app/clusters/try-cluster';
import type { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { showPlainly } from '#kernel/text/text';
import { plainLabel } from '../commands/picks.ts';
import { faultWords } from '../fault-words.ts';
import { type ConfirmDeps, confirmRun } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';
import { type ActRow, askRow, askText, whileLooking } from './steps.ts';
import type { Frame, Step, Went } from './walk.ts';

interface SshHost extends SshAddress {
  readonly key: SeenHostKey;
}

export interface SshDraft {
  readonly user: string;
  /** Private keys, as typed; empty: the agent's alone. */
  readonly identities: string;
  /** As typed: `pve=10.0.0.11, home=10.0.0.12:2222`. */
  readonly typed: string;
  readonly hosts: readonly SshHost[];
}

/** What the steps need of the assistant's draft. */
interface SshSide {
  readonly cluster: JsonObject;
  readonly secret: string;
  readonly ssh: SshDraft | undefined;
}

interface SshDeps {
  readonly confirm: ConfirmDeps;
  /** Node name → address, as the cluster says. */
  addresses(signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
}

const trying = () => import('#app/clusters/try-cluster');
/** In ms. */
const lookMs = 15_000;

export function sshSteps<Draft extends SshSide>(deps: SshDeps): readonly Step<Draft>[] {
  const of = (step: {
    readonly belongsBefore?: true;
    ask(ssh: SshDraft, frame: Frame, draft: Draft): Promise<Went<SshDraft | undefined>>;
  }): Step<Draft> => ({
    isDue: ({ ssh }) => ssh !== undefined,
    ...(step.belongsBefore && { belongsBefore: true }),
    async ask(draft, frame) {
      const went = draft.ssh && (await step.ask(draft.ssh, frame, draft));
      return went === undefined || went === 'back' ? went : { value: { ...draft, ssh: went.value } };
    },
  });
  return [
    { ask: (draft, frame) => askWhether(draft, frame, deps) },
    of({ ask: askUser }),
    of({ ask: askIdentities }),
    of({ ask: askHosts }),
    of({ belongsBefore: true, ask: (ssh) => trustHostKeys(ssh, deps.confirm) }),
    of({ ask: tryLogins }),
  ];
}

/** The entry's `ssh`, where the host keys are written to `knownHosts`. */
export function sshEntry({ user, hosts, ...ssh }: SshDraft, knownHosts: string): JsonObject {
  return {
    ...{ user, knownHosts, identityFiles: identitiesOf(ssh), agent: true },
    nodes: Object.fromEntries(hosts.map(({ node, host, port }) => [node, { host, port }])),
  };
}

function identitiesOf({ identities }: Pick<SshDraft, 'identities'>): string[] {
  return identities
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

function askWhether<Draft extends SshSide>(draft: Draft, frame: Frame, { addresses }: SshDeps): Promise<Went<Draft>> {
  return askRow<Draft>(frame, {
    placeHolder: t('Only execute_ssh, restart_service and get_node_temperature reach nodes by ssh'),
    rows: () => [
      {
        label: t('$(debug-step-over) Leave ssh Out'),
        detail: t('Everything else works without; it can be added to the setting “Banksman: Clusters” later'),
        act: async () => ({ value: { ...draft, ssh: undefined } }),
      },
      {
        label: t('$(terminal) Set Up ssh'),
        detail: t('As a user whose key the nodes take; their host keys are shown and pinned, and a login is tried'),
        act: async (signal) => {
          const { usualIdentities } = await trying();
          const found = await addresses(AbortSignal.any([signal, AbortSignal.timeout(lookMs)]));
          const typed = [...found].map(([node, host]) => `${node}=${host}`).join(', ');
          return { value: { ...draft, ssh: draft.ssh ?? { user: 'root', identities: usualIdentities().join(', '), typed, hosts: [] } } };
        },
      },
    ],
  });
}

function askUser(ssh: SshDraft, frame: Frame): Promise<Went<SshDraft>> {
  return askText(frame, {
    prompt: t('User on the nodes'),
    value: ssh.user,
    check: (text) => (/^[a-z_][\w.-]{0,31}$/i.test(text.trim()) ? undefined : t('That is no name of a user')),
    accept: async (text) => ({ ...ssh, user: text.trim() }),
  });
}

function askIdentities(ssh: SshDraft, frame: Frame): Promise<Went<SshDraft>> {
  return askText(frame, {
    prompt: t('Private key files that the nodes take, with commas between them. Empty: those of the running ssh agent'),
    value: ssh.identities,
    check: () => undefined,
    accept: async (text) => ({ ...ssh, identities: text }),
  });
}

async function askHosts(ssh: SshDraft, frame: Frame): Promise<Went<SshDraft>> {
  const { sshAddressesIn: hostsIn } = await import('#app/clusters/new-cluster');
  return askText(frame, {
    prompt: t('Where each node answers by ssh: node=address, with :port where it is not 22. Take out those without'),
    value: ssh.typed,
    check: (text) => (hostsIn(text) === undefined ? t('Write each as node=address, for example pve=10.0.0.11') : undefined),
    accept: async (text, signal) => {
      const { lookAtHostKey } = await trying();
      const until = AbortSignal.any([signal, AbortSignal.timeout(lookMs)]);
      const hosts = await Promise.all((hostsIn(text) ?? []).map(async (at) => ({ ...at, key: await lookAtHostKey(at, until) })));
      return { ...ssh, typed: text, hosts };
    },
  });
}

async function trustHostKeys(ssh: SshDraft, confirm: ConfirmDeps): Promise<Went<SshDraft>> {
  const { showHostKey } = await trying();
  const keys = ssh.hosts.map(
    ({ node, host, port, key }) =>
      `${showPlainly(node, 63)} (${showPlainly(host.includes(':') ? `[${host}]` : host, 100)}:${port}) ${key.type.replace(/^ssh-/, '')}\n${key.fingerprint}`,
  );
  const how = t(
    'Compare each with what the node itself prints, on its own console:\n{0}\nIf one differs, somebody is in between: do not go on.',
    showHostKey,
  );
  const trusts = await confirmRun(
    {
      key: 'trust host keys',
      title: t('Trust these ssh host keys from now on?'),
      detail: `${keys.join('\n\n')}\n\n${how}`,
      stay: t('Do Not Trust'),
      proceed: t('Trust and Go On'),
    },
    confirm,
  );
  return trusts ? { value: ssh } : 'back';
}

async function tryLogins(ssh: SshDraft, frame: Frame, { cluster, secret }: SshSide): Promise<Went<SshDraft | undefined>> {
  const { trySsh } = await trying();
  const parts = { secret, lines: ssh.hosts.map(({ key }) => key.line), nodes: ssh.hosts.map(({ node }) => node) };
  const look = (signal: AbortSignal) =>
    trySsh({ ...cluster, ssh: sshEntry(ssh, '') }, parts, AbortSignal.any([signal, AbortSignal.timeout(lookMs)]));
  let tried = await whileLooking(t('Logging in by ssh'), () => look(AbortSignal.timeout(lookMs)));
  return askRow<SshDraft | undefined>(frame, {
    placeHolder: t('Logins as {0}', ssh.user),
    rows: () =>
      loginRows(ssh, tried, async (signal) => {
        tried = await look(signal);
        return undefined;
      }),
  });
}

function loginRows(
  ssh: SshDraft,
  tried: ReadonlyMap<string, Fault | undefined>,
  again: (signal: AbortSignal) => Promise<undefined>,
): readonly ActRow<SshDraft | undefined>[] {
  const works = [...tried.values()].every((fault) => fault === undefined);
  return [
    {
      label: t('$(arrow-right) Go On'),
      detail: works ? t('Each login worked') : t('The setting names all of them; “Doctor” tries them again'),
      act: async () => ({ value: ssh }),
    },
    { label: t('$(refresh) Try Again'), act: again },
    { label: t('$(debug-step-over) Leave ssh Out'), act: async () => ({ value: undefined }) },
    ...[...tried].map(([node, fault]) => ({
      label: fault === undefined ? `$(check) ${node}` : `$(error) ${node}`,
      detail: fault === undefined ? t('logged in') : plainLabel(faultWords(fault), 600),
    })),
  ];
}
