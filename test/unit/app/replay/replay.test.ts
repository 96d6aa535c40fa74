/** A replay over records as the pipeline writes them: what changes, what cannot be replayed, and which rules would have saved questions. */
import { describe, expect, it } from 'vitest';
import { parseConfig } from '#app/config/config';
import { hashOf, seal } from '#audit/seal';
import { type AuditDraft, type AuditRecord, mostRecordBytes } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';
import type { ReplayReport } from '#kernel/policy-view';
import type { AuditLog } from '#kernel/ports/audit-log';
import { type Deciding, editedSettings, settingsShown } from '../../../../src/app/replay/edited-settings.ts';
import { runReplay } from '../../../../src/app/replay/policy-view.ts';

const start = Date.parse('2026-11-02T08:00:00Z');
const agent = { id: 'chat:0f3a', host: 'chat', model_tier: 'advanced' };

interface Said extends Record<string, unknown> {
  readonly tool: string;
  readonly input: JsonObject;
  readonly target?: readonly JsonObject[];
}

let calls = 0;

function call(name: AuditDraft['name'], { tool, input, ...more }: Said): AuditDraft {
  calls += 1;
  return {
    name,
    attributes: {
      ...{ 'gen_ai.tool.name': tool, 'gen_ai.tool.call.id': `call-${calls}`, 'gen_ai.tool.call.arguments': input },
      ...{ agent, sandbox: 'enforced', status: 'ok', code: 'ok', message: 'done', duration_ms: 1_000, ...more },
    },
  };
}

function ssh(command: string, more: object = {}): AuditDraft {
  const target = [
    { kind: 'node', cluster: 'lab', node: 'pve' },
    { kind: 'command', surface: 'ssh', text: command },
  ];
  return call('tool.started', { tool: 'execute_ssh', input: { node: 'pve', command }, target, cluster: 'lab', impact: 'none', ...more });
}

function run(command: string, more: object = {}): AuditDraft {
  const target = [{ kind: 'command', surface: 'workspace_command', text: command }];
  return call('tool.started', { tool: 'run_command', input: { command }, target, rules: ['effects.judged'], ...more });
}

function stop(vmid: number, more: object = {}): AuditDraft {
  const target = [{ kind: 'guest', cluster: 'lab', vmid, node: 'pve', guestType: 'qemu', name: 'web' }];
  return call('tool.started', {
    tool: 'stop_vm',
    input: { vmid },
    target,
    cluster: 'lab',
    impact: 'disruptive',
    request_id: `req-${vmid}`,
    ...more,
  });
}

const answered = (id: string, name: 'approval.approved' | 'approval.denied' = 'approval.approved'): AuditDraft => ({
  name,
  attributes: { request_id: id, by: 'user:ada', 'gen_ai.tool.name': 'run_command' },
});

/** @param everyMs between two records */
function trail(drafts: readonly AuditDraft[], everyMs = 60_000): AuditRecord[] {
  const records: AuditRecord[] = [];
  for (const [index, draft] of drafts.entries()) records.push(seal(draft, records.at(-1), start + index * everyMs));
  return records;
}

const cluster = { name: 'lab', endpoints: ['https://127.0.0.1:1'], tokenId: 'ops@pve!banksman' };

function deciding(settings: JsonObject = {}, rules: Deciding['rules'] = []): Deciding {
  return { config: parseConfig({ clusters: [cluster], ...settings }, 'test'), rules };
}

interface Given {
  readonly now?: Deciding;
  readonly edited: unknown;
  readonly reads?: (method: string, values: readonly unknown[]) => unknown;
  readonly since?: number;
  readonly signal?: AbortSignal;
}

async function replayed(
  records: readonly AuditRecord[],
  { now = deciding(), edited, reads, since, signal }: Given,
  more: object = {},
): Promise<ReplayReport> {
  const audit = {
    ...more,
    read: async (after: number, limit: number) => records.filter(({ sequence }) => sequence > after).slice(0, limit),
    head: async () => records.at(-1),
  } as unknown as AuditLog;
  return runReplay(
    {
      ...{
        before: now,
        after: editedSettings(edited, now, 'edited'),
        version: 'test',
        stateDir: '/',
        workspaceRoot: '/w',
        ownPrograms: [],
      },
      ...{ clusters: [{ name: 'lab', aliases: new Map() }], view: { judged: true }, ...(since === undefined ? {} : { since }) },
    },
    {
      audit,
      signal: signal ?? new AbortController().signal,
      reads: async (_cluster, method, values) =>
        reads === undefined ? Promise.reject(new Error(`${method} was read`)) : reads(method, values),
    },
  );
}

const rows = (vmid: number, tags: string) => (method: string) => {
  const guest = { vmid, node: 'pve', type: 'qemu', status: 'running', name: 'web', raw: { tags } };
  const known: Record<string, unknown> = {
    guests: [guest],
    nodes: [{ node: 'pve', status: 'online', raw: {} }],
    clusterStatus: [],
    rows: [],
    guestConfig: {},
  };
  return known[method];
};

describe('what would change', () => {
  it('says that nothing does where nothing differs, and needs no cluster for that', async () => {
    const report = await replayed(trail([ssh('uptime'), run('npm test'), stop(100)]), { edited: settingsShown(deciding()) });
    expect(report).toMatchObject({ calls: 3, judged: 3, same: 3, changed: 0, differs: [], loosens: [], notJudged: [], byNow: 0 });
    expect(report.agreement).toEqual({ known: 3, same: 3 });
  });

  it('tells what becomes tighter with the reason of the stage that says so, and equal calls once', async () => {
    const report = await replayed(trail([ssh('uptime'), ssh('uptime'), run('npm test'), stop(100)]), {
      edited: { securityLevel: 'strict' },
    });
    expect(report).toMatchObject({ judged: 4, changed: 3, tighter: 3, looser: 0, differs: ['securityLevel'], loosens: [] });
    expect(report.changes).toMatchObject([
      {
        tool: 'execute_ssh',
        calls: 2,
        before: { effect: 'allow' },
        after: { effect: 'ask', code: 'confirmation_required', rules: ['tier:yellow', 'level:strict'] },
      },
      { tool: 'run_command', calls: 1, agents: [{ id: 'chat:0f3a', calls: 1 }], examples: [{ words: 'run_command npm test' }] },
    ]);
  });

  it('tells what becomes looser first, and that it waits for a person', async () => {
    const now = deciding({ tiers: { execute_ssh: 'red' } });
    const report = await replayed(trail([ssh('uptime', { request_id: 'req-1' }), run('npm test')]), { now, edited: {} });
    expect(report.changes).toMatchObject([
      { tool: 'execute_ssh', direction: 'looser', before: { effect: 'ask' }, after: { effect: 'allow' } },
    ]);
    expect(report.loosens.join()).toContain('execute_ssh');
  });

  it('judges by the cluster as it is now only where the settings go by it, and says so', async () => {
    const edited = { protected: { tags: [{ tag: 'prod', reason: 'serves the shop' }] } };
    const report = await replayed(trail([stop(100), run('npm test')]), { edited, reads: rows(100, 'prod') });
    expect(report).toMatchObject({ judged: 2, changed: 1, tighter: 1, byNow: 1 });
    expect(report.changes[0]?.after).toMatchObject({ effect: 'deny', rules: ['protected.tags:prod'] });
    expect(report.changes[0]?.after.reason).toContain('serves the shop');
  });

  it('does not guess what tags a guest had that is gone', async () => {
    const report = await replayed(trail([stop(100)]), { edited: { protected: { tags: ['prod'] } }, reads: rows(101, 'prod') });
    expect(report).toMatchObject({ judged: 0, notJudged: [{ why: expect.stringContaining('gone'), calls: 1 }] });
  });

  it('decides by the windows of the moment of the call', async () => {
    const windows = [
      {
        name: 'night',
        kind: 'freeze',
        reason: 'nobody is there',
        zone: 'UTC',
        times: [{ start: '2026-11-02T08:02', duration: 'PT2M', rrule: 'FREQ=DAILY' }],
      },
    ];
    const report = await replayed(trail([stop(100), stop(100), stop(100), stop(100), stop(100)]), {
      edited: { windows },
      reads: rows(100, ''),
    });
    expect(report).toMatchObject({ judged: 5, same: 3, changed: 2 });
    expect(report.changes).toMatchObject([
      { after: { code: 'frozen', rules: ['windows.night'] }, examples: [{ record: 3 }, { record: 4 }] },
    ]);
  });

  it('counts budgets in the order of the trail, and only what the edited settings would have let happen', async () => {
    const scopes = [{ name: 'few', agents: ['host:chat'], reason: 'it is new', changesPerDay: 2 }];
    const report = await replayed(trail([stop(100), stop(100), stop(100), stop(100)]), { edited: { scopes }, reads: rows(100, '') });
    expect(report).toMatchObject({ same: 2, changed: 2, changes: [{ calls: 2, after: { code: 'over_budget', effect: 'deny' } }] });
  });
});

describe('what cannot be replayed', () => {
  it('is counted by why', async () => {
    const records = trail([
      run('x', { 'gen_ai.tool.call.arguments': { truncated: '{"command":"', bytes: 9_000 } }),
      run('y', { target: [{ kind: 'command', surface: 'workspace_command', text: 'y'.repeat(mostRecordBytes) }] }),
      run('curl -H [redacted:token]'),
      call('tool.finished', { tool: 'get_moon', input: {} }),
      call('tool.finished', { tool: 'x\u001b[2J\u202ey', input: {} }),
      call('tool.finished', { tool: 'read_file', input: { path: 'a', strange: 1 } }),
      call('tool.finished', { tool: 'get_vms', input: {}, agent: 'laptop' }),
      call('tool.finished', { tool: 'read_file', input: { path: 'a' } }),
      call('tool.finished', { tool: 'apply_held', input: { held: 'x' } }),
    ]);
    const report = await replayed(records, { edited: { securityLevel: 'strict' } });
    const why = report.notJudged.map(({ why: words }) => words).join('\n');
    expect(report).toMatchObject({ calls: 9, judged: 0, changed: 0 });
    // What an agent called a tool stands on a terminal.
    expect(why).not.toMatch(/\p{Cf}|(?!\n)\p{Cc}/u);
    for (const words of [
      'too long to be kept',
      'secrets were taken out',
      'no tool `get_moon`',
      'do not fit what `read_file`',
      'of another form',
      'path then',
      'as a whole',
    ])
      expect(why).toContain(words);
  });

  it('is named with so many reasons, however many names an agent thought of', async () => {
    const records = trail(Array.from({ length: 300 }, (_, n) => call('tool.finished', { tool: `get_moon_${n}`, input: {} })));
    const { notJudged } = await replayed(records, { edited: {} });
    expect(notJudged.length).toBeLessThan(120);
    expect(notJudged.reduce((sum, { calls: count }) => sum + count, 0)).toBe(300);
  });

  it('is a file’s size, kind or link of then, in no way: what was refused by it stays refused', async () => {
    const denied = { status: 'denied', code: 'NOT_A_REGULAR_FILE', message: 'this is a directory', rules: ['path.type'] };
    const report = await replayed(trail([call('tool.denied', { tool: 'read_file', input: { path: 'src' }, ...denied })]), {
      edited: { securityLevel: 'relaxed' },
    });
    expect(report).toMatchObject({ judged: 1, same: 1, agreement: { known: 1, same: 1 } });
  });

  it('is all that follows a record that does not fit', async () => {
    const records = trail([run('npm test'), run('npm test'), run('npm test')]);
    const altered = records.map((record, index) => (index === 1 ? { ...record, time: new Date(0).toISOString() } : record));
    const report = await replayed(altered, { edited: { securityLevel: 'strict' } });
    expect(report).toMatchObject({ records: 1, calls: 1, trail: { ok: false, message: expect.stringContaining('record 2 was altered') } });
  });

  it('is of several chains only what follows the record of the same one', async () => {
    const chained = (chain: string) => {
      const records: AuditRecord[] = [];
      for (const draft of [run('npm test'), run('npm test')]) {
        const open = { ...seal(draft, records.at(-1), start), chain };
        records.push({ ...open, hash: hashOf(open) });
      }
      return records;
    };
    const [first, second] = [chained('a/1'), chained('b/1')];
    const records = [{ ...first[0], time: new Date(0).toISOString() } as AuditRecord, ...first.slice(1), ...second];
    const report = await replayed(
      records,
      { edited: { securityLevel: 'strict' } },
      { readChains: async () => ({ records, keptSince: 0, anchors: [] }) },
    );
    expect(report).toMatchObject({
      records: 2,
      calls: 2,
      tighter: 2,
      trail: { ok: false, message: expect.stringContaining('chain `a/1`') },
    });
  });

  it('is nothing in an empty trail', async () => {
    expect(await replayed([], { edited: {} })).toMatchObject({
      records: 0,
      calls: 0,
      trail: { ok: true, message: expect.stringContaining('empty') },
    });
  });

  it('ends when it is cancelled', async () => {
    const records = trail(Array.from({ length: 2_100 }, () => run('npm test')));
    await expect(replayed(records, { edited: {}, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('leaves out what is older than asked for', async () => {
    const records = trail([run('npm test'), run('npm test'), run('npm test')]);
    expect(await replayed(records, { edited: {}, since: start + 100_000 })).toMatchObject({ records: 3, calls: 1 });
  });
});

describe('rules that would have saved questions', () => {
  const strict = deciding({ securityLevel: 'strict' });
  const asked = { rules: ['tier:yellow', 'level:strict'] };
  const unchanged = { edited: { securityLevel: 'strict' }, now: strict };

  it('suggests the command itself where it was approved again and again, and says what it lets through besides', async () => {
    const drafts = [
      ...['req-1', 'req-2'].flatMap((id) => [run('npm test', { request_id: id, ...asked }), answered(id)]),
      run('npm run deploy', { request_id: 'req-3', ...asked }),
      answered('req-3', 'approval.denied'),
    ];
    const report = await replayed(trail(drafts), unchanged);
    expect(report.questions).toEqual({ asked: 3, approved: 2, denied: 1, red: 0 });
    expect(report.suggestions).toMatchObject([
      {
        pattern: 'tool:run_command:npm test',
        action: 'allow',
        questions: 2,
        approvedBy: [{ by: 'user:ada', questions: 2 }],
        alsoLets: [],
        alsoLetsCalls: 0,
      },
    ]);
  });

  it('names the other calls that a wider one lets through, refused ones among them', async () => {
    const files = ['a', 'b', 'c'].flatMap((name) => [
      run(`npm test ${name}`, { request_id: `req-${name}`, ...asked }),
      answered(`req-${name}`),
    ]);
    const other = [run('npm test secrets', { request_id: 'req-d', ...asked }), answered('req-d', 'approval.denied')];
    const { suggestions } = await replayed(trail([...files, ...other]), unchanged);
    expect(suggestions).toMatchObject([
      {
        pattern: 'tool:run_command:npm test *',
        questions: 3,
        alsoLets: [{ words: 'run_command npm test secrets', calls: 1, denied: 1 }],
        alsoLetsCalls: 1,
      },
    ]);
  });

  it('suggests nothing for what is red, or was refused, or was approved once', async () => {
    const drafts = [
      ...['1', '2'].flatMap((id) => [stop(100, { request_id: id }), answered(id)]),
      ...[
        run('make', { request_id: '3', ...asked }),
        answered('3'),
        run('make', { request_id: '4', ...asked }),
        answered('4', 'approval.denied'),
      ],
      ...[run('npm ci', { request_id: '5', ...asked }), answered('5')],
    ];
    expect(await replayed(trail(drafts), unchanged)).toMatchObject({ suggestions: [], questions: { red: 2 } });
  });
});

describe('edited settings', () => {
  const flaws = (raw: unknown) => {
    try {
      editedSettings(raw, deciding(), 'settings.json');
      return '';
    } catch (thrown) {
      return String(thrown);
    }
  };

  it('name each field that is wrong', () => {
    const said = flaws({ securityLevel: 'lax', scopes: [{ name: 'UPPER', agents: [], reason: '' }] });
    for (const path of ['settings.json', '`securityLevel`', '`scopes.0.name`', '`scopes.0.agents`', '`scopes.0.reason`'])
      expect(said).toContain(path);
    expect(flaws({ autoApprove: [{ pattern: 'tool:stop_vm', action: 'allow' }] })).toContain('`autoApprove.0.pattern`');
    expect(flaws({ tiers: { no_such: 'red' } })).toContain('no_such');
    const both = flaws({ securityLevel: 'lax', autoApprove: [{ pattern: 'x', action: 'yes' }] });
    for (const path of ['`securityLevel`', '`autoApprove.0.action`']) expect(both).toContain(path);
    expect(flaws([])).toContain('must be a JSON object');
  });

  it('keep the level and the rules where they say nothing of them, and nothing else', () => {
    const now = deciding({ securityLevel: 'strict', protected: { guests: [103] } }, [{ pattern: 'tool:wake_node', action: 'block' }]);
    const edited = editedSettings({}, now, 'test');
    expect([edited.config.securityLevel, edited.rules, edited.config.protected.guests]).toEqual(['strict', now.rules, []]);
    expect(edited.config.clusters).toEqual(now.config.clusters);
  });
});
