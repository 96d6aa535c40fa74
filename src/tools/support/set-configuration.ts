/** Changing the few keys of a guest's configuration that tools may change, under the digest of what was approved. */
import { type GuestCondition, type Inverse, noWayBack } from '#kernel/guest-condition';
import type { JsonObject } from '#kernel/json';
import { wordOf } from '#kernel/json';
import { describeTarget, type GuestTarget, type Resource, type Target, tagsIn, targetWords } from '#kernel/resource';
import { asIs, joined, type Message, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { Obstacle, ToolContext, ToolResult } from '#kernel/tool';
import { conditionOf, keptKeys } from './condition.ts';
import { lookAtGuest } from './obstacles.ts';
import { approvedDigest, conditionIn, guestResult, runOperation } from './operation.ts';
import { type Looking, nothingWritten, obstacleOf, onGuest, stateFact } from './operation-facts.ts';
import { guestOf } from './targets.ts';

type Key = (typeof keptKeys)[number];

export interface ConfigurationInput {
  readonly vmid: number;
  readonly node?: string | undefined;
  readonly cores?: number | undefined;
  readonly memory?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly description?: string | undefined;
  readonly onboot?: boolean | undefined;
  readonly unset?: readonly Key[] | undefined;
}

const privileges: Readonly<Record<Key, string>> = {
  cores: 'VM.Config.CPU',
  memory: 'VM.Config.Memory',
  tags: 'VM.Config.Options',
  description: 'VM.Config.Options',
  onboot: 'VM.Config.Options',
};

/** What the API is told: values, and keys to be left out. An empty text or list is a key that is not set. */
function changeOf(input: ConfigurationInput): { readonly set: Readonly<Record<string, string>>; readonly remove: readonly Key[] } {
  const values: Readonly<Record<Key, string | undefined>> = {
    cores: input.cores?.toString(),
    memory: input.memory?.toString(),
    tags: input.tags === undefined ? undefined : tagsIn(input.tags.join(' ')).join(';'),
    description: input.description,
    onboot: input.onboot === undefined ? undefined : input.onboot ? '1' : '0',
  };
  const given = keptKeys.filter((key) => values[key] !== undefined && input.unset?.includes(key) !== true);
  return {
    set: Object.fromEntries(given.flatMap((key) => (values[key] === '' ? [] : [[key, values[key] ?? '']]))),
    remove: keptKeys.filter((key) => input.unset?.includes(key) === true || values[key] === ''),
  };
}

function keysOf(input: ConfigurationInput): readonly Key[] {
  const { set, remove } = changeOf(input);
  return keptKeys.filter((key) => key in set || remove.includes(key));
}

/** What `set_guest_config` and `set_tags` share: they differ in what they take. */
export const configurationTool = {
  group: 'cluster',
  tier: 'red',
  impact: 'reversible',
  permission: 'cluster:operate',
  touches: ({ vmid, node, tags, unset }: ConfigurationInput): readonly Resource[] => [
    { kind: 'guest', access: 'operate', vmid, ...(node === undefined ? {} : { node }) },
    ...(tags === undefined && unset?.includes('tags') !== true
      ? []
      : [{ kind: 'tags', access: 'operate', vmid, tags: tags ?? [] } as const]),
  ],
  headline: (input: ConfigurationInput, targets: readonly Target[]) =>
    say`Set ${joined(keysOf(input))} of ${targetWords(guestOf(targets))}`,
  precondition: async (_input: ConfigurationInput, { cluster, targets, signal }: Looking) => [
    await conditionOf(cluster().api, guestOf(targets), signal),
  ],
  inverse: configurationInverse,
  precheck: (input: ConfigurationInput, context: Looking) => configurationObstacle(input, context),
  preview: async (input: ConfigurationInput, context: ToolContext) => {
    const look = await lookAtGuest(context.cluster().api, guestOf(context.targets), context.signal);
    return [...keysOf(input).map((key) => say`${key}: ${shown(look.config?.[key])} → ${shown(changeOf(input).set[key])}`), stateFact(look)];
  },
  run: (input: ConfigurationInput, context: ToolContext) => configure(input, context),
} as const;

const longestValue = 80;

function shown(value: unknown): Message {
  const word = wordOf(value);
  return word === '' ? say`not set` : asIs(showPlainly(word, longestValue));
}

/** The old values; what was not set is unset again. */
export function configurationInverse(input: ConfigurationInput, before: readonly GuestCondition[]): Inverse {
  const old = conditionIn(before, input.vmid)?.config;
  if (old === undefined) return noWayBack(say`what is set now could not be read`);
  const keys = keysOf(input);
  const entries = keys.flatMap((key) => (old[key] === undefined ? [] : [[key, settingOf(key, old[key])] as const]));
  if (entries.some(([, value]) => value === undefined)) return noWayBack(say`what is set now is no value that this tool could set`);
  const unset = keys.filter((key) => old[key] === undefined);
  return {
    tool: 'set_guest_config',
    input: { vmid: input.vmid, ...Object.fromEntries(entries), ...(unset.length === 0 ? {} : { unset: [...unset] }) },
  };
}

function settingOf(key: Key, text: string): JsonObject[string] {
  if (key === 'tags') return [...tagsIn(text)];
  if (key === 'onboot') return text === '1';
  if (key === 'description') return text;
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

async function configurationObstacle(input: ConfigurationInput, context: Looking): Promise<Obstacle | undefined> {
  const keys = keysOf(input);
  if (keys.length === 0)
    return { code: 'invalid_input', message: `nothing is to be set; name one of ${keptKeys.map((key) => `\`${key}\``).join(', ')}` };
  return obstacleOf(
    context,
    ({ vmid }) => ({
      done: 'changed',
      rights: onGuest(vmid, ...new Set(keys.map((key) => privileges[key]))),
      withoutQuorum: nothingWritten,
    }),
    ({ guest, config }) => (config === undefined ? undefined : sameObstacle(input, guest, config)),
  );
}

function sameObstacle(input: ConfigurationInput, guest: GuestTarget, config: JsonObject): Obstacle | undefined {
  const { set } = changeOf(input);
  const isSame = keysOf(input).every((key) => plain(key, config[key]) === plain(key, set[key]));
  return isSame
    ? { code: 'nothing_to_change', message: `${describeTarget(guest)} is configured so already`, next: 'nothing is to be done' }
    : undefined;
}

/** As two spellings of one value compare: a description ends in a line end, tags are sorted, `onboot` is off where it is not set. */
function plain(key: Key, value: unknown): string {
  if (key === 'tags') return tagsIn(value).join(';');
  if (key === 'onboot') return wordOf(value) || '0';
  return wordOf(value).trimEnd();
}

async function configure(input: ConfigurationInput, context: ToolContext): Promise<ToolResult> {
  const { api } = context.cluster();
  const guest = guestOf(context.targets);
  const { set, remove } = changeOf(input);
  const digest = await approvedDigest(context, guest);
  return runOperation(
    {
      headline: `Set ${keysOf(input).join(', ')} of ${describeTarget(guest)}`,
      at: guest,
      operation: { kind: 'configure', set, remove, digest },
      result: guestResult(guest),
      look: async ({ signal }) => {
        const [config, pending] = await Promise.all([
          api.guestConfig(guest, signal),
          api.rows({ rows: 'pending', guest }, signal).catch(() => []),
        ]);
        const waits = keysOf(input).filter((key) =>
          pending.some((row) => row['key'] === key && (row['pending'] !== undefined || row['delete'] !== undefined)),
        );
        const wrong = keysOf(input).filter((key) => !waits.includes(key) && plain(key, config[key]) !== plain(key, set[key]));
        const now = Object.fromEntries(keysOf(input).map((key) => [key, config[key] ?? null]));
        const result = { config: now, ...(waits.length === 0 ? {} : { pending: [...waits] }) };
        if (wrong.length > 0) return { reached: false, words: `${wrong.join(', ')} is not what was set`, result };
        // The API's 200 means both: it counts now, or from the next start on.
        const later = waits.length === 0 ? 'it counts now' : `${waits.join(', ')} only from its next start on (pending)`;
        return { reached: true, words: later, result };
      },
    },
    context,
  );
}
