/**
 * `node test/bench/replay.ts [RECORDS] [distinct]`: how long the replay of a trail of a million records takes, in the shape that the pipeline writes,
 * and the most memory that it has. `distinct`: no two calls are equal. Exit code 1 above 60 s.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '#app/config/config';
import { runReplay } from '#app/replay/policy-view';
import { seal } from '#audit/seal';
import type { AuditDraft } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';
import { openDatabase } from '#stores/sqlite/database';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { defaultRetention } from '#stores/sqlite/retention';
import { createAppend } from '#stores/sqlite/sqlite-audit';
import { figure } from './measure.ts';

const records = Number(process.argv[2] ?? 1_000_000);
const isDistinct = process.argv[3] === 'distinct';
const limitMs = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'banksman-replay-'));
const file = join(folder, 'banksman.db');

const agents = Array.from({ length: 40 }, (_, index) => ({ id: `chat:${index}`, host: 'chat', model_tier: 'intermediate' }));
const guests = Array.from({ length: 30 }, (_, index) => ({ vmid: 100 + index, node: `pve${index % 3}`, name: `guest-${index}` }));

/** Every third is a read, every third a command on a node, the rest a command in the workspace with its intent before it. */
function draft(index: number): AuditDraft {
  const agent = agents[index % agents.length] ?? {};
  const number = isDistinct ? index : index % 400;
  const about = [guest, command, workspace][index % 3] ?? guest;
  return { name: 'tool.finished', attributes: { ...about(number), ...frame(index, agent) } };
}

function frame(index: number, agent: JsonObject): JsonObject {
  return {
    ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.call.id': `call-${index}`, source: 'llm', agent, sandbox: 'enforced' },
    ...{ status: 'ok', code: 'ok', message: 'done, as it was asked', duration_ms: 12, policy_version: '0123456789abcdef' },
  };
}

function guest(number: number): JsonObject {
  const { vmid, node, name } = guests[number % guests.length] ?? { vmid: 100, node: 'pve0', name: '' };
  return {
    ...{
      'gen_ai.tool.name': 'get_guest',
      'gen_ai.tool.call.arguments': { vmid, ...(isDistinct ? { cluster: 'lab' } : {}) },
      tier: 'green',
    },
    ...{
      target: [{ kind: 'guest', cluster: 'lab', vmid, node, guestType: 'qemu', name }],
      cluster: 'lab',
      impact: 'none',
      rules: ['tier:green'],
    },
  };
}

function command(number: number): JsonObject {
  const text = `journalctl -u unit-${number} -n 20`;
  return {
    ...{
      'gen_ai.tool.name': 'execute_ssh',
      'gen_ai.tool.call.arguments': { node: 'pve0', command: text },
      tier: 'yellow',
      cluster: 'lab',
      impact: 'none',
    },
    target: [
      { kind: 'node', cluster: 'lab', node: 'pve0' },
      { kind: 'command', surface: 'ssh', text },
    ],
    rules: ['tier:yellow', 'level:balanced'],
  };
}

function workspace(number: number): JsonObject {
  const text = `npm test -- case-${number}`;
  return {
    ...{ 'gen_ai.tool.name': 'run_command', 'gen_ai.tool.call.arguments': { command: text }, tier: 'yellow' },
    target: [{ kind: 'command', surface: 'readonly_bash', text }],
    rules: ['tier:yellow', 'level:balanced', 'effects.judged'],
  };
}

async function fill(): Promise<void> {
  let now = Date.now() - 60 * 86_400_000;
  const database = await openDatabase({ file, busyDeadlineMs: 5_000 });
  const append = createAppend(seal, () => (now += 3_000));
  for (let done = 0; done < records; done += 50_000)
    await database.write((tx) => {
      let previous: ReturnType<typeof append> | undefined;
      for (let index = done; index < Math.min(done + 50_000, records); index += 1) previous = append(tx, draft(index), previous);
    });
  database.close();
}

try {
  let before = performance.now();
  await fill();
  console.log(`filled in ${figure(performance.now() - before)} ms`);
  // Else the store would drop most of it meanwhile, and the replay begin again.
  const store = await openSqliteStore({ file, seal, retention: { ...defaultRetention, bytes: Number.MAX_SAFE_INTEGER } });
  const config = parseConfig({ clusters: [{ name: 'lab', endpoints: ['https://127.0.0.1:1'], tokenId: 'a@pve!bench' }] }, 'bench');
  const after = parseConfig({ securityLevel: 'strict', tiers: { execute_ssh: 'red' } }, 'bench');
  before = performance.now();
  const cpu = process.cpuUsage();
  let most = 0;
  const report = await runReplay(
    {
      ...{
        before: { config, rules: [] },
        after: { config: { ...config, securityLevel: after.securityLevel, tiers: after.tiers }, rules: [] },
      },
      ...{
        version: 'bench',
        clusters: [{ name: 'lab', aliases: new Map() }],
        view: { judged: true },
        workspaceRoot: folder,
        ownPrograms: [],
        stateDir: folder,
      },
    },
    {
      audit: store.audit,
      reads: () => Promise.reject(new Error('no cluster is read')),
      signal: new AbortController().signal,
      onProgress: () => {
        most = Math.max(most, process.memoryUsage().rss);
      },
    },
  );
  const took = performance.now() - before;
  const { user, system } = process.cpuUsage(cpu);
  await store.close();
  const { calls, judged, changed, tighter, notJudged, trail } = report;
  console.log(JSON.stringify({ calls, judged, changed, tighter, notJudged, trail, changes: report.changes.length }));
  console.log(`replay of ${records} records: ${figure(took)} ms, ${figure((user + system) / 1000)} ms of a core`);
  console.log(`most memory: ${Math.round(most / 2 ** 20)} MB`);
  process.exitCode = took > limitMs ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
