/** What a replay remembers and works out once for both sides changes nothing that it says: each call decided by itself, for each side, says the same. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allTools } from '#app/catalog';
import { parseConfig } from '#app/config/config';
import { policySettings } from '#app/config/policy-settings';
import { seal } from '#audit/seal';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Tool } from '#kernel/tool';
import { validate } from '#pipeline/validate';
import { decideCommand } from '#policy/effects/decide-command';
import { runReplay } from '../../../src/app/replay/policy-view.ts';
import { createCallReader, type RecordedCall } from '../../../src/app/replay/recorded-call.ts';
import { decideRecorded, type Side, type World } from '../../../src/app/replay/recorded-world.ts';
import { createTally } from '../../../src/app/replay/tally.ts';

const start = Date.parse('2026-11-02T08:00:00Z');
const { signal } = new AbortController();

type Call = Readonly<Record<'tool' | 'input', unknown>> & JsonObject;

const ssh = fc
  .record({
    node: fc.constantFrom('pve', 'pve2'),
    command: fc.constantFrom('uptime', 'ls -la /etc', 'rm -rf /', 'qm stop 100', 'df -h; id'),
  })
  .map(({ node, command }): Call => {
    const target = [
      { kind: 'node', cluster: 'lab', node },
      { kind: 'command', surface: 'ssh', text: command },
    ];
    return { tool: 'execute_ssh', input: { node, command }, target, cluster: 'lab', impact: 'none' };
  });

const run = fc
  .record({
    command: fc.constantFrom('npm test', 'ls', 'curl https://example.org/x', 'banksman approve 1'),
    rules: fc.constantFrom(['effects.judged'], ['workspace.no-view'], []),
    sandbox: fc.constantFrom('enforced', 'degraded', 'unavailable', 'none'),
  })
  .map(({ command, rules, sandbox }): Call => {
    return {
      tool: 'run_command',
      input: { command },
      target: [{ kind: 'command', surface: 'workspace_command', text: command }],
      rules,
      sandbox,
    };
  });

const guest = fc
  .record({ tool: fc.constantFrom('stop_vm', 'restart_vm', 'get_guest'), vmid: fc.constantFrom(100, 101, 'x'), extra: fc.boolean() })
  .map(({ tool, vmid, extra }): Call => {
    const input = { vmid, ...(extra ? { unknown: 1 } : {}) };
    const target = typeof vmid === 'number' ? [{ kind: 'guest', cluster: 'lab', vmid, node: 'pve', guestType: 'qemu', name: 'web' }] : [];
    return { tool, input, target, cluster: 'lab', impact: tool === 'get_guest' ? 'none' : 'disruptive' };
  });

const agents = fc.constantFrom('basic', 'intermediate', 'advanced').chain((model_tier) =>
  fc.record({
    id: fc.constantFrom('chat:0f3a', 'mcp:nightly'),
    host: fc.constantFrom('chat', 'mcp'),
    model_tier: fc.constant(model_tier),
  }),
);

const endings = fc.constantFrom(
  { name: 'tool.started' as const, status: 'ok', code: 'ok' },
  { name: 'tool.finished' as const, status: 'ok', code: 'ok', request_id: 'req-1' },
  { name: 'tool.denied' as const, status: 'denied', code: 'untrusted_workspace' },
);

const drafts = fc.array(
  fc.record({ call: fc.oneof(ssh, run, guest), agent: agents, ending: endings, times: fc.integer({ min: 1, max: 3 }) }),
  { minLength: 1, maxLength: 25 },
);

function trailOf(given: readonly Drafted[]): AuditRecord[] {
  const records: AuditRecord[] = [];
  for (const { call, agent, ending, times } of given)
    for (let time = 0; time < times; time += 1) {
      const { tool, input, ...more } = call;
      const { name, ...how } = ending;
      const attributes = {
        ...{ 'gen_ai.tool.name': tool, 'gen_ai.tool.call.arguments': input, 'gen_ai.tool.call.id': `call-${records.length}` },
        ...{ agent, sandbox: 'enforced', message: 'as it was', duration_ms: 1_000, ...more, ...how },
      } as JsonObject;
      records.push(seal({ name, attributes }, records.at(-1), start + records.length * 3_600_000));
    }
  return records;
}

interface Drafted {
  readonly call: Call;
  readonly agent: JsonObject;
  readonly ending: { readonly name: AuditDraft['name'] };
  readonly times: number;
}

const settings = fc.record({
  securityLevel: fc.constantFrom('strict', 'balanced', 'relaxed'),
  tiers: fc.constantFrom({}, { execute_ssh: 'red' }, { stop_vm: 'black' }),
  commandRules: fc.constantFrom(
    [],
    [
      ...[
        { id: 'no-uptime', surface: 'ssh', effect: 'deny', program: 'uptime', justification: 'no', match: ['uptime'], notMatch: ['df -h'] },
      ],
      { id: 'no-ls', surface: 'workspace_command', effect: 'deny', program: 'ls', justification: 'no', match: ['ls'], notMatch: ['id'] },
    ],
  ),
  scopes: fc.constantFrom(
    [],
    [{ name: 'night', agents: ['mcp:*'], changesPerDay: 2, reason: 'few' }],
    [{ name: 'chat', agents: ['chat:*'], only: { nodes: ['pve2'] }, reason: 'theirs' }],
  ),
  windows: fc.constantFrom(
    [],
    [
      {
        name: 'night',
        kind: 'freeze',
        reason: 'backups',
        zone: 'UTC',
        times: [{ start: '2026-11-02T12:00', duration: 'PT4H', rrule: 'FREQ=DAILY' }],
      },
    ],
  ),
});

const cluster = { name: 'lab', endpoints: ['https://127.0.0.1:1'], tokenId: 'ops@pve!banksman' };

const reads: World['reads'] = async (_cluster, method) =>
  method === 'guests'
    ? [{ vmid: 100, node: 'pve', type: 'qemu', status: 'running', name: 'web', raw: {} }]
    : [{ node: 'pve', name: 'pve', type: 'node', status: 'online', raw: {} }];

function parse(given: JsonObject) {
  return parseConfig({ clusters: [cluster], ...given }, 'test');
}

type Parsed = ReturnType<typeof parse>;

/** One side, of which nothing is remembered, and which shares nothing with the other. */
function plainSide(config: Parsed) {
  const side: Side = { config, settings: { ...policySettings(config, 'test'), rules: async () => [] } };
  const made = new Map<string, number[]>();
  return async (call: RecordedCall) => {
    const spent = new Map([...made].map(([id, times]) => [id, times.filter((at) => at >= call.at - 86_400_000).length]));
    const verdict = await decideRecorded(call, { side, world: world(), spent }, signal);
    if (call.counts && verdict.effect !== 'deny') made.set(call.agent.id, [...(made.get(call.agent.id) ?? []), call.at]);
    return { ...verdict, byNow: false };
  };
}

async function plainly(records: readonly AuditRecord[], before: Parsed, after: Parsed) {
  const read = createCallReader(new Map(allTools.map((tool): [string, Tool] => [tool.name, tool])));
  const tally = createTally();
  const [one, two] = [plainSide(before), plainSide(after)];
  for (const record of records) {
    const found = read(record);
    if (found.kind === 'unfit') tally.unfit(found.why, found.at);
    else if (found.kind === 'call') tally.note(found.call, await one(found.call), await two(found.call));
  }
  return tally.report();
}

function world(): World {
  return {
    ...{
      tools: allTools,
      clusters: [{ name: 'lab', aliases: new Map() }],
      reads,
      view: { judged: true },
      workspaceRoot: '/w',
      ownPrograms: [],
    },
    shared: {
      validate: (call, tool) => validate(tool, call.input, call.agent),
      decideCommand: (command, userRules, view) => decideCommand(command, { userRules, view }),
    },
  };
}

async function replayed(records: readonly AuditRecord[], before: Parsed, after: Parsed) {
  const audit = {
    read: async (from: number, limit: number) => records.filter(({ sequence }) => sequence > from).slice(0, limit),
    head: async () => records.at(-1),
  } as unknown as AuditLog;
  const { version, stateDir, workspaceRoot } = { version: 'test', stateDir: '/', workspaceRoot: '/w' };
  const sides = { before: { config: before, rules: [] }, after: { config: after, rules: [] } };
  const clusters = [{ name: 'lab', aliases: new Map() }];
  return runReplay(
    { ...sides, ...{ version, stateDir, workspaceRoot, clusters, ownPrograms: [], view: { judged: true } } },
    { audit, reads, signal },
  );
}

describe('a replay', () => {
  it('says what each call says that is decided by itself', async () => {
    await fc.assert(
      fc.asyncProperty(drafts, settings, settings, async (given, one, two) => {
        const records = trailOf(given);
        const [before, after] = [parse(one), parse(two)];
        const report = await replayed(records, before, after);
        const { changes, ...plain } = await plainly(records, before, after);
        // Whether something of now was looked at is the replay's own word for a whole kind of settings.
        expect(report).toMatchObject({ ...plain, byNow: report.byNow });
        expect(report.changes.map((change) => ({ ...change, byNow: 0 }))).toEqual(changes);
      }),
      { numRuns: 150 },
    );
  });
});
