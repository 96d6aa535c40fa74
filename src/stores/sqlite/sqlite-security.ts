/** Level, auto-approve rules and one-time codes in SQLite. Every change of a setting and its audit record are one transaction. */
import { requestIdPattern } from '#kernel/approval/request';
import type { RulePayload, SignedSetting } from '#kernel/approval/security';
import type { CodeStore, SecurityStore, StoredCode, StoredPause } from '#kernel/ports/store';
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
import type { Database, Transaction } from './database.ts';
import type { AppendSealed } from './sqlite-audit.ts';

export interface SecurityDeps {
  readonly database: Database;
  readonly append: AppendSealed;
  /** ms since the epoch: the clock that decides which rules are over. */
  readonly now: () => number;
  readonly onChange: (listener: () => void) => () => void;
}

const levelKey = 'security_level';
const pauseKey = 'agents_paused';
const rulePrefix = 'auto_approve:';
const upsert = 'INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value';

export function createSqliteSecurity({ database, append, now, onChange }: SecurityDeps): SecurityStore {
  return {
    level: () =>
      database.read((tx) => {
        const row = tx.get('SELECT value FROM settings WHERE key = ?', levelKey);
        return row && levelFrom(String(row.value));
      }),
    setLevel: async (setting) => {
      const text = settingText(setting);
      await database.write((tx) => {
        tx.run(upsert, levelKey, text);
        append(tx, { name: 'policy.changed', attributes: settingAttributes(setting) });
      });
    },
    rules: () => database.read((tx) => storedRules(tx).flatMap(({ pattern, text }) => ruleFrom(pattern, text, now()) ?? [])),
    setRule: async (setting) => {
      const text = settingText(setting);
      await database.write((tx) => {
        setRule(tx, setting, text, now());
        append(tx, { name: 'policy.changed', attributes: settingAttributes(setting) });
      });
    },
    removeRule: async (pattern, by) => {
      if (!isStorablePattern(pattern)) return false;
      return database.write((tx) => {
        const isLive = isRuleLive(tx, pattern, now());
        tx.run('DELETE FROM settings WHERE key = ?', `${rulePrefix}${pattern}`);
        if (isLive) append(tx, { name: 'policy.changed', attributes: removalAttributes(pattern, by) });
        return isLive;
      });
    },
    ...sqlitePause({ database, append }),
    onChange,
  };
}

function sqlitePause({
  database,
  append,
}: Pick<SecurityDeps, 'database' | 'append'>): Pick<SecurityStore, 'pause' | 'setPause' | 'liftPause'> {
  return {
    pause: () => database.read((tx) => pauseIn(tx)),
    setPause: (pause) => {
      const text = pauseText(pause);
      return database.write((tx) => {
        const stored = pauseIn(tx);
        if (stored !== undefined && 'pause' in stored) return false;
        tx.run(upsert, pauseKey, text);
        append(tx, { name: 'policy.changed', attributes: pauseAttributes(pause) });
        return true;
      });
    },
    liftPause: (lifted) => {
      const text = liftText(lifted);
      return database.write((tx) => {
        if (!mayLift(pauseIn(tx), lifted)) return false;
        tx.run(upsert, pauseKey, text);
        append(tx, { name: 'policy.changed', attributes: liftAttributes(lifted) });
        return true;
      });
    },
  };
}

function pauseIn(tx: Transaction): StoredPause | undefined {
  const row = tx.get('SELECT value FROM settings WHERE key = ?', pauseKey);
  return row && pauseFrom(String(row.value));
}

function storedRules(tx: Transaction): readonly { readonly pattern: string; readonly text: string }[] {
  return tx
    .all('SELECT substr(key, ?) AS pattern, value FROM settings WHERE key GLOB ? ORDER BY key', rulePrefix.length + 1, `${rulePrefix}*`)
    .map((row) => ({ pattern: String(row.pattern), text: String(row.value) }));
}

function isRuleLive(tx: Transaction, pattern: string, now: number): boolean {
  const row = tx.get('SELECT value FROM settings WHERE key = ?', `${rulePrefix}${pattern}`);
  return row !== undefined && ruleFrom(pattern, String(row.value), now) !== undefined;
}

/** Where there are too many, rules whose time is over make room. @throws {Fault} `too_many_rules` */
function setRule(tx: Transaction, { payload }: SignedSetting<RulePayload>, text: string, now: number): void {
  const key = `${rulePrefix}${payload.pattern}`;
  const others = Number(tx.get('SELECT count(*) AS n FROM settings WHERE key GLOB ? AND key <> ?', `${rulePrefix}*`, key)?.n);
  if (others >= maxRules && others - dropOver(tx, payload.pattern, now) >= maxRules) throw tooManyRules();
  tx.run(upsert, key, text);
}

function dropOver(tx: Transaction, except: string, now: number): number {
  const over = storedRules(tx).filter((rule) => rule.pattern !== except && ruleFrom(rule.pattern, rule.text, now) === undefined);
  for (const rule of over) tx.run('DELETE FROM settings WHERE key = ?', `${rulePrefix}${rule.pattern}`);
  return over.length;
}

export function createSqliteCodes(database: Database, now: () => number): CodeStore {
  return {
    put: (requestId, { salt, hash }, lifeMs) =>
      database.write((tx) => {
        tx.run('DELETE FROM one_time_codes WHERE expires_at <= ? OR request_id = ?', now() - lifeMs, requestId);
        insertCode(tx, requestId, { salt, hash, wrong: 0 }, now() + lifeMs);
      }),
    take: async (requestId) => {
      if (!requestIdPattern.test(requestId)) return undefined;
      return database.write((tx) => {
        const row = tx.get('SELECT salt, hash, wrong, expires_at FROM one_time_codes WHERE request_id = ?', requestId);
        if (row === undefined) return undefined;
        tx.run('DELETE FROM one_time_codes WHERE request_id = ?', requestId);
        const code = { salt: String(row.salt), hash: String(row.hash), wrong: Number(row.wrong) };
        return { code, leftMs: Number(row.expires_at) - now() };
      });
    },
    putBack: (requestId, code, leftMs) => database.write((tx) => insertCode(tx, requestId, code, now() + leftMs)),
  };
}

/** Where there is one already, that stays. */
function insertCode(tx: Transaction, requestId: string, { salt, hash, wrong }: StoredCode, expiresAt: number): void {
  tx.run(
    'INSERT INTO one_time_codes (request_id, salt, hash, wrong, expires_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (request_id) DO NOTHING',
    ...[requestId, salt, hash, wrong, expiresAt],
  );
}
