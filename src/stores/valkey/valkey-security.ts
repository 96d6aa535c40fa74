/** Level and auto-approve rules in the shared store. Every change and its audit record are one transaction. */

import type { Redis } from 'iovalkey';
import * as z from 'zod';
import { requestIdPattern, requestLifeMs } from '#kernel/approval/request';
import type { RulePayload, SignedSetting } from '#kernel/approval/security';
import type { AuditDraft } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import type { CodeStore, SecurityStore, StoredCode, StoredPause, StoredRule } from '#kernel/ports/store';
import {
  isStorablePattern,
  levelFrom,
  liftAttributes,
  liftText,
  maxRules,
  mayLift,
  pauseAttributes,
  pauseFrom,
  pauseText,
  removalAttributes,
  ruleFrom,
  settingAttributes,
  settingText,
  tooManyRules,
} from '../stored-setting.ts';
import { execute, type StoreContext } from './store-context.ts';
import { keyReaders } from './stored-request.ts';
import { addEntries, mayAddLeaves } from './tree-leaves.ts';

type Transaction = ReturnType<Redis['multi']>;

/** Others keep changing the rules: give up after so many attempts. */
const maxTries = 20;

export function createValkeySecurity(context: StoreContext, onChange: SecurityStore['onChange']): SecurityStore {
  const { connections, keys } = context;
  return {
    level: async () => {
      const text = await connections.asAny(keyReaders, (client) => client.get(keys.level));
      return text === null ? undefined : levelFrom(text);
    },
    setLevel: async (setting) => {
      const text = settingText(setting);
      await change(context, async () => ({
        record: { name: 'policy.changed', attributes: settingAttributes(setting) },
        write: (transaction) => transaction.set(keys.level, text),
      }));
    },
    rules: () => connections.asAny(keyReaders, (client) => liveRules(context, client)),
    setRule: async (setting) => {
      const text = settingText(setting);
      await change(context, (client) => replacement(context, client, { setting, text }));
    },
    removeRule: async (pattern, by) => {
      if (!isStorablePattern(pattern)) return false;
      return change(context, (client) => removal(context, client, { pattern, by }));
    },
    pause: () => connections.asAny(keyReaders, (client) => pauseIn(context, client)),
    setPause: (pause) => {
      const text = pauseText(pause);
      return change(context, async (client) => {
        const stored = await pauseIn(context, client);
        if (stored !== undefined && 'pause' in stored) return undefined;
        const record = { name: 'policy.changed', attributes: pauseAttributes(pause) } as const;
        return { record, write: (transaction) => transaction.set(keys.paused, text) };
      });
    },
    liftPause: (lifted) => {
      const text = liftText(lifted);
      return change(context, async (client) => {
        if (!mayLift(await pauseIn(context, client), lifted)) return undefined;
        const record = { name: 'policy.changed', attributes: liftAttributes(lifted) } as const;
        return { record, write: (transaction) => transaction.set(keys.paused, text) };
      });
    },
    onChange,
  };
}

async function pauseIn({ keys }: StoreContext, client: Redis): Promise<StoredPause | undefined> {
  const text = await client.get(keys.paused);
  return text === null ? undefined : pauseFrom(text);
}

interface Step {
  readonly record: AuditDraft;
  write(transaction: Transaction): Transaction;
}

/** Looks, and changes what nobody else has changed meanwhile. False where there was nothing to do. */
async function change(context: StoreContext, plan: (client: Redis) => Promise<Step | undefined>): Promise<boolean> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const outcome = await context.adminTurn((client) => once(context, client, plan));
    if (outcome === 'changed') continue;
    if (outcome === 'done') context.ring();
    return outcome === 'done';
  }
  throw new Fault('store_busy', 'the security settings kept changing', { retryable: true, next: 'try again' });
}

async function once(
  context: StoreContext,
  client: Redis,
  plan: (client: Redis) => Promise<Step | undefined>,
): Promise<'done' | 'changed' | 'nothing'> {
  const { keys, chain, self, replication } = context;
  await replication.require(client);
  await client.watch(keys.rules, keys.paused);
  let sent = false;
  try {
    const step = await plan(client);
    if (!step) return 'nothing';
    const hasTree = await mayAddLeaves(context, client);
    const written = await chain.within(step.record, async (entry) => {
      sent = true;
      const transaction = addEntries(context, step.write(client.multi()), { entries: [entry], hasTree });
      const replies = await execute(transaction.publish(keys.channel, self));
      if (replies !== undefined) await replication.confirm(client);
      return replies !== undefined;
    });
    return written ? 'done' : 'changed';
  } finally {
    // A transaction ends the watch itself.
    if (!sent) await client.unwatch();
  }
}

async function replacement(
  context: StoreContext,
  client: Redis,
  { setting, text }: { readonly setting: SignedSetting<RulePayload>; readonly text: string },
): Promise<Step> {
  const { keys } = context;
  const { pattern } = setting.payload;
  const { live, over } = await withRoom(context, client, pattern);
  return {
    record: { name: 'policy.changed', attributes: settingAttributes(setting) },
    write: (transaction) => withRules(transaction.set(keys.rule(pattern), text), keys, { patterns: [...live, pattern], over }),
  };
}

async function removal(
  context: StoreContext,
  client: Redis,
  { pattern, by }: { readonly pattern: string; readonly by: string },
): Promise<Step | undefined> {
  const { keys, now } = context;
  const text = await client.get(keys.rule(pattern));
  if (text === null || ruleFrom(pattern, text, now()) === undefined) return undefined;
  const others = await otherPatterns(context, client, pattern);
  return {
    record: { name: 'policy.changed', attributes: removalAttributes(pattern, by) },
    write: (transaction) => withRules(transaction.del(keys.rule(pattern)), keys, { patterns: others, over: [] }),
  };
}

function withRules(
  transaction: Transaction,
  keys: StoreContext['keys'],
  { patterns, over }: { readonly patterns: readonly string[]; readonly over: readonly string[] },
): Transaction {
  for (const pattern of over) transaction.del(keys.rule(pattern));
  return transaction.set(keys.rules, JSON.stringify(patterns.toSorted()));
}

async function otherPatterns({ keys }: StoreContext, client: Redis, except: string): Promise<readonly string[]> {
  // A list that is damaged begins anew here: this is the way out that its fault names.
  return (patternsIn(await client.get(keys.rules)) ?? []).filter((pattern) => pattern !== except);
}

/** The other patterns. Where they are too many, those whose time is over make room. @throws {Fault} `too_many_rules` */
async function withRoom(context: StoreContext, client: Redis, except: string) {
  const patterns = await otherPatterns(context, client, except);
  if (patterns.length < maxRules) return { live: patterns, over: [] };
  const live = (await readRules(context, client, patterns)).map((rule) => rule.pattern);
  const kept = new Set(live);
  if (live.length >= maxRules) throw tooManyRules();
  return { live, over: patterns.filter((pattern) => !kept.has(pattern)) };
}

/** @throws {Fault} `store_corrupt` where the list is none: the rules that forbid could not be found then */
async function liveRules(context: StoreContext, client: Redis): Promise<readonly StoredRule[]> {
  const patterns = patternsIn(await client.get(context.keys.rules));
  if (patterns) return readRules(context, client, patterns.toSorted());
  throw new Fault('store_corrupt', 'the list of auto-approve rules in the store is damaged or was not written by Banksman', {
    next: 'check who can write to the store, then set the rules again with `banksman auto-approve set`',
  });
}

async function readRules({ keys, now }: StoreContext, client: Redis, patterns: readonly string[]): Promise<readonly StoredRule[]> {
  // One by one: the agent's user may not read several at once here.
  const texts = await Promise.all(patterns.map((pattern) => client.get(keys.rule(pattern))));
  return patterns.flatMap((pattern, index) => {
    const text = texts[index];
    return typeof text === 'string' ? (ruleFrom(pattern, text, now()) ?? []) : [];
  });
}

const patternList = z.array(z.string().refine(isStorablePattern)).max(10 * maxRules);

/** undefined for what is no list of patterns. */
function patternsIn(text: string | null): readonly string[] | undefined {
  try {
    const patterns = patternList.safeParse(JSON.parse(text ?? '[]')).data;
    return patterns && [...new Set(patterns)];
  } catch {
    return undefined;
  }
}

// One-time codes. The administrator's user alone may write them; a key is gone with `GETDEL`, so one process gets it.

const valueSchema = z.strictObject({
  salt: z.string().min(1),
  hash: z.string().min(1),
  wrong: z.number().int().min(0),
  /** ms since the epoch, by the server's clock. */
  expiresAt: z.number(),
});

export function createValkeyCodes({ connections, keys, now, replication }: StoreContext): CodeStore {
  const textOf = ({ salt, hash, wrong }: StoredCode, leftMs: number): string =>
    JSON.stringify({ salt, hash, wrong, expiresAt: Math.round(now() + leftMs) });
  return {
    // The key outlives the code for a while, so that who comes late is told why.
    put: async (requestId, code, lifeMs) => {
      const value = textOf({ ...code, wrong: 0 }, lifeMs);
      await connections.as('admin', (client) => client.set(keys.code(requestId), value, 'PX', requestLifeMs));
    },
    // SECURITY: a code that a fail-over brings back could be tried again, so its taking is confirmed.
    take: async (requestId) => {
      if (!requestIdPattern.test(requestId)) return undefined;
      const text = await connections.as('admin', async (client) => {
        await replication.require(client);
        const taken = await client.getdel(keys.code(requestId));
        if (taken !== null) await replication.confirm(client);
        return taken;
      });
      const value = valueIn(text);
      if (value === undefined) return undefined;
      const { expiresAt, ...code } = value;
      return { code, leftMs: expiresAt - now() };
    },
    putBack: async (requestId, code, leftMs) => {
      const value = textOf(code, leftMs);
      await connections.as('admin', (client) => client.set(keys.code(requestId), value, 'PX', requestLifeMs, 'NX'));
    },
  };
}

/** undefined: there is none, or something else wrote there. */
function valueIn(text: string | null): z.output<typeof valueSchema> | undefined {
  try {
    return valueSchema.safeParse(JSON.parse(text ?? '')).data;
  } catch {
    return undefined;
  }
}
