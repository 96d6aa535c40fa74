import { describe, expect, it } from 'vitest';
import { type AutoApproveAction, blockReasons, defaultApprovalDomains } from '#kernel/approval/security';
import { decideReport } from '#policy/auto-approve';
import { parseDestination } from '#policy/destinations';
import { liveRule } from './live-rules.ts';

const at = (text: string) => parseDestination(text) ?? expect.fail(text);
const rule = (host: string, action: AutoApproveAction) => liveRule(`destination:${host}`, action);

const ofContent = ['credential_detected', 'malware_domain', 'file_infected'] as const;
const ofDestination = blockReasons.filter((reason) => !ofContent.some((other) => other === reason));

describe('a reported block', () => {
  it.each(blockReasons)('%s at a destination nobody listed is for a person', (reason) => {
    expect(decideReport(reason, at('api.example.com'), [])).toMatchObject({ effect: 'ask', code: reason });
  });

  it.each(ofDestination)('%s at a domain that approvals go through is settled', (reason) => {
    for (const domain of defaultApprovalDomains)
      expect(decideReport(reason, at(`x${domain}`), [])).toMatchObject({ effect: 'allow', rules: [`approval-domain:${domain}`] });
    // Not by how it ends.
    for (const host of ['evilapi.slack.com', 'notdiscord.com', 'discord.com.evil.example', 'slack.com'])
      expect(decideReport(reason, at(host), []).effect, host).toBe('ask');
  });

  it.each(ofContent)('%s is for a person wherever it was found', (reason) => {
    expect(decideReport(reason, at('discord.com'), [rule('discord.com', 'allow')])).toMatchObject({ effect: 'ask', code: reason });
  });

  it('follows people’s rules, the strictest first, before the list', () => {
    const host = at('cdn.discord.com');
    expect(decideReport('url_blocked', at('a.example.com'), [rule('.example.com', 'allow')])).toMatchObject({
      effect: 'allow',
      rules: ['auto-approve:destination:.example.com'],
    });
    expect(decideReport('url_blocked', host, [rule('.discord.com', 'prompt')]).effect).toBe('ask');
    const both = [rule('.discord.com', 'allow'), rule('cdn.discord.com', 'block'), rule('.discord.com', 'prompt')];
    for (const reason of blockReasons)
      expect(decideReport(reason, host, both)).toMatchObject({ effect: 'deny', code: 'destination_blocked' });
    expect(decideReport('url_blocked', at('a.example.com:8443'), [rule('a.example.com:443', 'allow')]).effect).toBe('ask');
  });
});
