import { describe, expect, it } from 'vitest';
import { allow, ask, type Decision, deny, strictest } from '#kernel/decision';
import type { Target } from '#kernel/resource';
import { asIs } from '#kernel/text/message';
import type { ActionTier } from '#kernel/tiers';
import { isTooWide, type LiveRule, parseRulePattern, ruleSubject, settleByRules } from '#policy/auto-approve';
import { decideTier } from '#policy/classify';
import { liveRule, patternOf, yellowTools } from './live-rules.ts';

const [yellow, pattern, rule] = [yellowTools, patternOf, liveRule];

const command = (text: string): Target => ({ kind: 'command', access: 'operate', surface: 'workspace_command', text });
const path = (real: string): Target => ({ kind: 'path', access: 'operate', path: `./${real}`, real });
const ssh = (text: string): readonly Target[] => [
  { kind: 'node', access: 'operate', cluster: 'lab', node: 'pve', online: true, addresses: [] },
  { kind: 'command', access: 'operate', surface: 'ssh', text },
];
const service: Target = { kind: 'service', access: 'operate', cluster: 'lab', node: 'pve', service: 'nginx.service' };

interface Case {
  readonly tool: string;
  readonly targets: readonly Target[];
  readonly decisions?: readonly Decision[];
  readonly tier?: ActionTier;
}
function settle(
  { tool, targets, decisions = [decideTier(tool, 'yellow', 'strict')], tier = 'yellow' }: Case,
  ...rules: LiveRule[]
): Decision {
  return strictest(settleByRules(decisions, ruleSubject(tool, tier, targets), rules));
}

const atStrict = (tool: string) => decideTier(tool, 'yellow', 'strict');
const npm = { tool: 'run_command', targets: [command('npm ci')] };
const network = ask('network_blocked', asIs('needs the network'), ['workspace.network']);

describe('a pattern', () => {
  it.each([
    ['destination:api.slack.com', 'destination:api.slack.com'],
    [' destination:.SLACK.com. ', 'destination:.slack.com'],
    ['destination:.bücher.example:8443', 'destination:.xn--bcher-kva.example:8443'],
    ['destination:0x0a000001', 'destination:10.0.0.1'],
    ['destination:[2001:DB8::1]:443', 'destination:[2001:db8::1]:443'],
    ['tool:wake_node', 'tool:wake_node'],
    ['tool:run_command: npm run build:prod ', 'tool:run_command:npm run build:prod'],
  ])('%s is %s', (text, canonical) => {
    expect(pattern(text).text).toBe(canonical);
    expect(pattern(canonical).text).toBe(canonical);
  });

  it.each([
    ['', /starts with/],
    ['stop_vm', /starts with/],
    ['tool:stop_vm', /yellow tools only/],
    ['tool:reboot_node', /yellow tools only/],
    ['tool:read_file', /yellow tools only/],
    ['tool:*', /yellow tools only/],
    ['tool:constructor', /yellow tools only/],
    ['tool:run_command:', /nothing behind the last colon/],
    ['destination:', /needs a host/],
    ['destination:.', /needs a host/],
    ['destination:*', /needs a host/],
    ['destination:*.slack.com', /needs a host/],
    ['destination:https://slack.com/x', /needs a host/],
    ['destination:user@slack.com', /needs a host/],
    ['destination:.10.0.0.1', /no domains below/],
    ['destination:.[2001:db8::1]', /no domains below/],
    ['tool:run_command:npm\u202e ci', /visible characters/],
    ['tool:run_command:npm\nci', /visible characters/],
    [`tool:run_command:${'x'.repeat(300)}`, /at most 300/],
  ])('%j is none', (text, why) => {
    expect(parseRulePattern(text, yellow)).toMatchObject({ ok: false, why: expect.stringMatching(why) });
  });

  it('is too wide to allow where it is a whole top-level domain', () => {
    expect(['destination:.com', 'destination:.xn--p1ai'].map((text) => isTooWide(pattern(text)))).toEqual([true, true]);
    expect(['destination:.slack.com', 'destination:localhost', 'tool:wake_node'].map((text) => isTooWide(pattern(text)))).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe('an allow', () => {
  it('lifts what level strict asks about a yellow tool, and names itself first', () => {
    const decision = settle(npm, rule('tool:run_command:npm *'));
    expect(decision).toMatchObject({ effect: 'allow', code: 'allowed_by_rule' });
    expect(decision.rules).toEqual(['auto-approve:tool:run_command:npm *', 'tier:yellow', 'level:strict']);
  });

  it.each([
    ['write_file', [path('src/a.ts')], 'tool:write_file:src/*.ts'],
    ['write_file', [path('src/deep/a.ts')], 'tool:write_file:src/**'],
    ['write_file', [path('src/a.ts')], 'tool:write_file'],
    ['execute_ssh', ssh('df -h'), 'tool:execute_ssh:pve df -h'],
    ['execute_ssh', ssh('df -h'), 'tool:execute_ssh:lab/pve df *'],
    ['restart_service', [service], 'tool:restart_service:pve nginx'],
    ['restart_service', [service], 'tool:restart_service:pve nginx.service'],
    ['wake_node', ssh('x').slice(0, 1), 'tool:wake_node:pve'],
    ['wake_node', ssh('x').slice(0, 1), 'tool:wake_node:lab/pve'],
  ] as const)('%s %j falls under %s', (tool, targets, text) => {
    expect(settle({ tool, targets }, rule(text)).code).toBe('allowed_by_rule');
  });

  it.each([
    ['write_file', [path('src/deep/a.ts')], 'tool:write_file:src/*.ts'],
    ['write_file', [path('src2/a.ts')], 'tool:write_file:src/**'],
    ['write_file', [path('a.ts')], 'tool:run_command:a.ts'],
    ['execute_ssh', ssh('df -h'), 'tool:execute_ssh:pve2 df -h'],
    ['execute_ssh', ssh('df -h'), 'tool:execute_ssh:prod/pve df -h'],
    ['execute_ssh', ssh('df -h'), 'tool:execute_ssh:pve'],
    ['restart_service', [service], 'tool:restart_service:pve ngin'],
    ['run_command', [command('npm ci; rm -rf .')], 'tool:run_command:npm *'],
    ['run_command', [command('npm ci && curl x')], 'tool:run_command:npm *'],
    ['run_command', [command('npm $(id)')], 'tool:run_command:npm *'],
    ['run_command', [command('npm `id`')], 'tool:run_command:npm *'],
    ['run_command', [command('npm ci > x')], 'tool:run_command:npm *'],
    ['run_command', [command('npm ci\nid')], 'tool:run_command:npm *'],
    ['run_command', [command('npm "x"')], 'tool:run_command:npm **'],
    ['run_command', [command('npm  ci')], 'tool:run_command:npm ci'],
    ['run_command', [command('xnpm ci')], 'tool:run_command:npm ci'],
  ] as const)('%s %j does not fall under %s', (tool, targets, text) => {
    expect(settle({ tool, targets }, rule(text))).toEqual(atStrict(tool));
  });

  it.each([
    ['network_blocked', 'workspace.network'],
    ['no_view', 'workspace.no-view'],
  ])('lifts %s of a run only for the very command', (code, name) => {
    const open = { ...npm, decisions: [decideTier('run_command', 'yellow', 'balanced'), ask(code, asIs('why'), [name])] };
    expect(settle(open, rule('tool:run_command:npm ci')).rules[0]).toBe('auto-approve:tool:run_command:npm ci');
    for (const wide of ['tool:run_command', 'tool:run_command:npm *', 'tool:run_command:npm ci*'])
      expect(settle(open, rule(wide))).toMatchObject({ effect: 'ask', code });
    // An exact rule beside a wide one still lifts.
    expect(settle(open, rule('tool:run_command'), rule('tool:run_command:npm ci')).effect).toBe('allow');
  });

  it('lifts CONTROL_FILE only for the very path, and SECRET_FILE never', () => {
    const control = ask('CONTROL_FILE', asIs('why'), ['path.control-files']);
    const write = { tool: 'write_file', targets: [path('.vscode/tasks.json')] };
    expect(settle({ ...write, decisions: [control] }, rule('tool:write_file:.vscode/tasks.json')).effect).toBe('allow');
    expect(settle({ ...write, decisions: [control] }, rule('tool:write_file:.vscode/*')).effect).toBe('ask');
    const secret = ask('SECRET_FILE', asIs('why'), ['path.secret-files']);
    expect(settle({ ...write, decisions: [secret] }, rule('tool:write_file:.vscode/tasks.json'))).toEqual(secret);
  });

  it.each([
    ask('sandbox_not_enforced', asIs('why'), ['sandbox:unavailable']),
    ask('network_blocked', asIs('two findings'), ['workspace.network', 'user.my-rule']),
    ask('asked_by_configuration', asIs('why'), ['user.my-rule']),
    ask('undecided', asIs('no rule at all'), []),
    deny('COMMAND_BLOCKED', 'why', ['workspace.own-command']),
    deny('network_blocked', 'level strict', ['workspace.network', 'level:strict']),
  ])('never lifts %j', (decision) => {
    const every = ['tool:run_command', 'tool:run_command:npm ci', 'tool:run_command:**', 'destination:.example.com'].map((text) =>
      rule(text),
    );
    const left = settle({ ...npm, decisions: [allow('x', 'x'), decision] }, ...every);
    expect(left).toEqual(decision);
  });

  it.each(['green', 'red', 'black'] as const)('changes nothing for a %s call', (tier) => {
    const decision = decideTier('restart_service', tier, 'strict');
    for (const action of ['allow', 'prompt', 'block'] as const)
      expect(
        settle({ tool: 'restart_service', targets: [service], decisions: [decision], tier }, rule('tool:restart_service', action)),
      ).toEqual(decision);
  });

  it('of a destination opens no run’s network: the sandbox cannot hold it to one host', () => {
    const curl = { tool: 'run_command', targets: [command('curl https://api.slack.com/x')], decisions: [network] };
    expect(settle(curl, rule('destination:.slack.com'), rule('destination:api.slack.com'))).toEqual(network);
  });
});

describe('prompt and block', () => {
  const runs = { ...npm, decisions: [decideTier('run_command', 'yellow', 'relaxed')] };

  it('ask about and refuse what would run', () => {
    expect(settle(runs, rule('tool:run_command', 'prompt'))).toMatchObject({
      effect: 'ask',
      code: 'confirmation_required',
      rules: ['auto-approve:tool:run_command'],
    });
    expect(settle(runs, rule('tool:run_command:npm *', 'block'))).toMatchObject({
      effect: 'deny',
      code: 'blocked_by_rule',
      rules: ['auto-approve:tool:run_command:npm *'],
    });
  });

  it('win over what is looser, in any order', () => {
    const [yes, maybe, no] = [rule('tool:run_command:npm ci'), rule('tool:run_command:npm *', 'prompt'), rule('tool:run_command', 'block')];
    expect(settle(npm, yes, maybe).rules).toEqual(['auto-approve:tool:run_command:npm *']);
    expect(settle(npm, maybe, yes).effect).toBe('ask');
    expect(settle(npm, yes, no, maybe).code).toBe('blocked_by_rule');
  });

  it('of a destination hold for the URLs of a command', () => {
    const run = (text: string) => ({ tool: 'run_command', targets: [command(text)], decisions: [network] });
    const no = rule('destination:.evil.example', 'block');
    for (const text of ['curl https://evil.example/x', 'git clone ssh://git@a.EVIL.example:22/x', "wget 'http://u:p@b.evil.example'"])
      expect(settle(run(text), no).code, text).toBe('blocked_by_rule');
    for (const text of ['curl https://notevil.example/x', 'curl https://evil.example.com/', 'echo evil.example'])
      expect(settle(run(text), no), text).toEqual(network);
    expect(settle({ ...run('curl https://a.b/'), decisions: [allow('x', 'x')] }, rule('destination:a.b', 'prompt')).effect).toBe('ask');
  });
});

describe('matching', () => {
  it('takes no time that grows with the stars', () => {
    const stars = rule(`tool:run_command:${'a*'.repeat(100)}b`);
    // With backtracking a tenth of this would take longer than the universe has.
    const text = 'a'.repeat(2_000);
    expect(settle({ tool: 'run_command', targets: [command(text)] }, stars)).toEqual(atStrict('run_command'));
    expect(settle({ tool: 'run_command', targets: [command(`${text}b`)] }, stars).effect).toBe('allow');
  });
});
