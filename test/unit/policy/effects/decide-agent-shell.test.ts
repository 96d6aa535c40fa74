import { describe, expect, it } from 'vitest';
import { type AgentShellGround, decideAgentShell, isThroughRun } from '#policy/effects/decide-agent-shell';

const own: AgentShellGround['ownPrograms'] = [['banksman'], ['/opt/node', '/opt/cli.cjs']];
const decide = (text: string, through: boolean, mode: AgentShellGround['mode']) =>
  decideAgentShell(text, through, { userRules: [], mode, ownPrograms: own });

describe('a line of an agent’s own shell', () => {
  it.each([
    'banksman run -- npm test',
    'banksman run --network --timeout=60 -- npm ci',
    "banksman run -- 'npm test | tail; rm -rf build'",
    '/opt/node /opt/cli.cjs run -- ls',
    'banksman run -- ls && banksman run -- pwd',
  ])('is a run: %s', (line) => {
    expect(isThroughRun(line, own)).toBe(true);
    expect(decide(line, true, 'through-run')).toMatchObject({ effect: 'allow' });
  });

  it.each([
    'ls',
    'banksman run -- ls; rm -rf x',
    'banksman run -- ls > out',
    'banksman run -- "$(id)"',
    'banksman run --config mine.json -- ls',
    'banksman run --state /tmp/x -- ls',
    './banksman run -- ls',
    'PATH=. banksman run -- ls',
    'banksman approvals approve req-1',
    "banksman run -- 'a' 'b\\' ; id #'",
    'banksman run --',
    'banksman run -- ls\nid',
    'banksman run -- l? & id',
  ])('is none, and does not run as one whatever the mode: %s', (line) => {
    expect(isThroughRun(line, own)).toBe(false);
    for (const mode of ['through-run', 'ask', 'allow'] as const) expect(decide(line, true, mode)).toMatchObject({ effect: 'deny' });
    expect(decide(line, false, 'through-run')).toMatchObject({ effect: 'deny' });
  });

  it('asks, or runs, where a person set it so', () => {
    expect(decide('ls', false, 'ask')).toMatchObject({ effect: 'ask' });
    expect(decide('ls', false, 'allow')).toMatchObject({ effect: 'allow' });
  });
});
