import { describe, expect, it } from 'vitest';
import type { CommandResource } from '#kernel/resource';
import { type CommandGround, decideCommand } from '#policy/effects/decide-command';
import { type UserRule, userRuleSchema } from '#policy/user-rules';

const judged: CommandGround = { userRules: [], view: { judged: true } };
const noView: CommandGround = { userRules: [], view: { judged: false, reason: 'no user namespaces', better: 'x' } };

function command(text: string, more: Partial<CommandResource> = {}): CommandResource {
  return { kind: 'command', access: 'operate', surface: 'workspace_command', text, ...more };
}

const decide = (text: string, ...userRules: readonly UserRule[]) => decideCommand(command(text), { ...judged, userRules });

function rule(effect: UserRule['effect'], line: string, more: Partial<UserRule> = {}): UserRule {
  const [program, ...args] = line.split(' ');
  const given = { id: 'mine', surface: 'workspace_command', effect, program, args, more: 'any', justification: 'because', match: [line] };
  return userRuleSchema.parse({ ...given, ...more });
}

const denied = { effect: 'deny', code: 'COMMAND_BLOCKED' };

describe('ordinary work', () => {
  it.each([
    'npm test',
    'rm -rf . && git reset --hard',
    'curl https://example.com',
    'sudo id',
    'cat <<E > f\ntext\nE',
    'echo "an open quote',
    'git commit -m "✔️ done 👩‍💻 für später"',
    'printf "a\tb"\n',
    '',
  ])('%j runs: what it does is judged', (text) => {
    expect(decide(text)).toMatchObject({ effect: 'allow', rules: ['effects.judged'] });
    expect(decideCommand(command(text, { surface: 'readonly_bash' }), judged).effect).toBe('allow');
  });
});

describe('characters that hide something', () => {
  it.each([
    ['ls \u202eold', 4, 'U+202E'],
    ['ls\u200b', 3, 'U+200B'],
    ['ls \u001b[2K', 4, 'U+001B'],
    ['echo a\rb', 7, 'U+000D'],
    ['echo a\u0008b', 7, 'U+0008'],
    ['echo \u{e0041}', 6, 'U+E0041'],
    ['echo \ud800', 6, 'U+D800'],
  ])('%j is refused at its place', (text, place, name) => {
    const decision = decide(text);
    expect(decision).toMatchObject({ ...denied, rules: ['workspace.hidden-character'] });
    expect(decision.reason).toContain(`character ${place}: ${name}`);
  });
});

describe('verbs by which people decide', () => {
  it.each([
    'banksman approvals approve 1',
    'cd x && banksman approvals deny 1',
    './node_modules/.bin/banksman approvers create --name me',
    'node dist/cli.cjs level set relaxed',
    '/usr/bin/node --no-warnings /opt/banksman/dist/cli.cjs auto-approve set tool:run_command',
    'npx banksman@1.2.3 --json tokens create x',
    "bank'sman' runs undo 7",
    'x=$(banksman level get)',
    'sudo -n env A=b banksman sandbox clean',
    'bash -c "banksman approvals list"',
    'BANKSMAN_STATE=x banksman approvals watch',
  ])('%s is refused', (text) => {
    expect(decide(text)).toMatchObject({ ...denied, rules: ['workspace.own-command'] });
  });

  it.each([
    'banksman doctor',
    'banksman runs list',
    'node dist/cli.cjs approvals',
    'grep -rn "banksman approvals approve" docs',
    'node dist/main.cjs level set',
    'echo approvals approve',
    'git log banksman level get',
  ])('%s is not', (text) => {
    expect(decide(text).effect).toBe('allow');
  });
});

describe('a rule that refuses', () => {
  const noPush = rule('deny', 'git push');

  it.each([
    'git push',
    'git push origin main',
    'cd x; git push',
    'make && git push',
    'git status | git push',
    'if true; then git push; fi',
    '! git push',
    '{ git push; }',
    '(cd x && git push)',
    'A=1 B="x y" git push',
    'g\'it\' pu"sh"',
    '\\git push',
    'git \\\n push',
    'git push > /dev/null 2>&1',
    '2>err git push',
    'echo $(git push)',
    'echo "now: $(git push)"',
    'echo `git push`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own
    'echo ${x:-$(git push)}',
    'diff <(git push) x',
    'sudo git push',
    'timeout -k 5 60 git push',
    'env -i A=b git push',
    'xargs -n 1 git push < list',
    'bash -lc "cd x && git push"',
    'eval git push',
    'cat <<E\ntext\nE\ngit push',
    'echo $((1 << 2))\ngit push',
    '((x = 1 << 2))\ngit push',
    'f() { git push; }',
    'git push "$remote"',
    '# first\ngit push',
    'echo a#b; git push',
  ])('sees %j', (text) => {
    expect(decide(text, noPush)).toMatchObject({ ...denied, rules: ['user.mine'], reason: expect.stringContaining('because') });
  });

  it.each([
    'git status',
    'git pushd',
    'git commit -m "then git push"',
    "echo 'git push'",
    'echo git push',
    '# git push',
    'ls # ; git push',
    'cat <<E\ngit push\nE',
    'git commit -m "$(cat <<\'E\'\ngit push\nE\n)"',
    'echo $((git + push))',
    'grep push < git',
    '/usr/bin/git push',
    'git -C d push',
    'python3 -c "import os; os.system(\'git push\')"',
    'echo "$HOME" | sort',
  ])('does not see %j', (text) => {
    expect(decide(text, noPush)).toMatchObject({ effect: 'allow' });
  });

  it.each([
    '$program push',
    'git $verb',
    'git "$(verb)" x',
    'git p*',
    '{git,} push',
    "$'\\x67it' push",
    'bash -c "$script"',
    'echo "open',
    "echo 'open",
    'echo $(ls',
    'echo `ls',
    'cat <<E\ntext',
    `${'$('.repeat(40)}${')'.repeat(40)}`,
  ])('has a person asked where it cannot be told: %j', (text) => {
    expect(decide(text, noPush)).toMatchObject({ effect: 'ask', code: 'confirmation_required', rules: ['user.mine'] });
    expect(decide(text).effect).toBe('allow');
  });

  it('of exactly these words does not see more of them', () => {
    const bare = rule('deny', 'make clean', { more: 'none' });
    expect(decide('make clean', bare).effect).toBe('deny');
    expect(decide('make clean all', bare).effect).toBe('allow');
    expect(decide('make clean $more', bare).effect).toBe('ask');
    expect(decide('make clean all $more', bare).effect).toBe('allow');
  });

  it('counts on its own surface only', () => {
    expect(decide('git push', rule('deny', 'git push', { surface: 'readonly_bash' })).effect).toBe('allow');
    expect(decide('git push', rule('deny', 'git push', { surface: 'ssh' })).effect).toBe('allow');
  });
});

describe('several rules', () => {
  it('the strictest wins, and all that say so are named', () => {
    const [asks, refuses] = [rule('ask', 'npm publish', { id: 'asks' }), rule('deny', 'npm', { id: 'refuses' })];
    expect(decide('npm publish', asks)).toMatchObject({ effect: 'ask', code: 'confirmation_required', rules: ['user.asks'] });
    expect(decide('npm publish', asks, refuses)).toMatchObject({ effect: 'deny', rules: ['user.refuses', 'user.asks'] });
  });

  it('an allow takes nothing from a strict one', () => {
    expect(decide('npm publish', rule('allow', 'npm', { id: 'lets' }), rule('ask', 'npm publish')).effect).toBe('ask');
  });
});

describe('the network', () => {
  it('is asked for where the call wishes it, and by no text', () => {
    const asked = decideCommand(command('npm ci', { network: true }), judged);
    expect(asked).toMatchObject({ effect: 'ask', code: 'network_blocked', rules: ['workspace.network'] });
    expect(decide('npm ci').effect).toBe('allow');
    expect(decideCommand(command('npm ci', { network: false }), judged).effect).toBe('allow');
  });

  it('beside a rule that asks, both are in the question', () => {
    const { rules, reason } = decideCommand(command('npm ci', { network: true }), { ...judged, userRules: [rule('ask', 'npm ci')] });
    expect(rules).toEqual(['user.mine', 'workspace.network']);
    expect(reason).toMatch(/because; this run is to have the network/);
  });
});

describe('where commands do not run over a view', () => {
  it.each([noView, { ...noView, view: undefined }])('every command asks, and says why', (ground) => {
    for (const surface of ['workspace_command', 'readonly_bash'] as const)
      expect(decideCommand(command('ls', { surface }), ground)).toMatchObject({
        effect: 'ask',
        code: 'no_view',
        rules: ['workspace.no-view'],
      });
    expect(decideCommand(command('ls'), noView).reason).toContain('no user namespaces');
  });

  it('a run that may only look is read-only, and nothing of it counts', () => {
    const reason = (surface: CommandResource['surface'], ground = noView) => decideCommand(command('ls', { surface }), ground).reason;
    expect(reason('workspace_command')).toMatch(/^what it changes counts at once and cannot be undone here: no user/);
    expect(reason('readonly_bash')).toMatch(/^it runs on the workspace itself, read-only, .*: no user/);
    expect(reason('readonly_bash', { ...noView, view: undefined })).toMatch(/may count at once .*the sandbox does not hold/);
  });

  const lets = [rule('allow', 'npm test', { id: 'a' }), rule('allow', 'ls', { id: 'b' })];

  it.each(['npm test', 'npm test --watch=false && ls -l', 'ls | ls', 'ls 2>/dev/null'])('rules that allow settle it for %j', (text) => {
    expect(decideCommand(command(text), { ...noView, userRules: lets }).effect).toBe('allow');
  });

  it.each([
    'npm test && rm x',
    'ls > x',
    'ls $(rm x)',
    'npm $x',
    'npm ci',
    'ls & rm x',
    'ls\nrm x',
    'A=1 ls',
    'ls <(rm x)',
    'sudo ls',
    'ls `x`',
  ])('and not for %j', (text) => {
    expect(decideCommand(command(text), { ...noView, userRules: lets }).effect).toBe('ask');
  });
});
