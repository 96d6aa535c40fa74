import { describe, expect, it } from 'vitest';
import { parseConfig } from '#app/config/config';
import { defaultConfigFile } from '#app/config/paths';
import { problemHeadline, problemNotice, problemRows } from '#hosts/vscode/approvals-view/problem-rows';
import { Fault, toFault } from '#kernel/errors';

/** As the editor host parses the settings. */
function faultOf(raw: unknown): Fault {
  try {
    parseConfig(raw, 'settings `banksman.*`');
  } catch (thrown) {
    return toFault(thrown);
  }
  throw new Error('the settings were accepted');
}

describe('a bad configuration', () => {
  const two = faultOf({ clusters: [{ name: 'lab', endpoints: ['http://x'], tokenId: 'ops@pve!banksman' }], securityLevel: 'lax' });

  it('has a row for each field, with what was found', () => {
    const rows = problemRows(two);
    expect(rows.map((row) => row.label)).toEqual(['clusters.0.endpoints.0', 'securityLevel']);
    expect(rows[0]?.description).toMatch(/https.*found.*http:\/\/x/);
    expect(rows[1]?.tooltip).toMatch(/^banksman\.securityLevel: .*\nSelect to open the settings\.$/);
  });

  it('is counted in words, and the notice names the first', () => {
    expect(problemHeadline(two)).toBe('2 settings are wrong, so no tool runs.');
    expect(problemNotice(two)).toMatch(/`banksman\.clusters\.0\.endpoints\.0`: .*\(and 1 more\)$/);
    const one = faultOf({ securityLevel: 'lax' });
    expect(problemHeadline(one)).toBe('One setting is wrong, so no tool runs.');
    expect(problemNotice(one)).not.toContain('more)');
  });

  it('does not repeat a secret that somebody put in the wrong place', () => {
    const fault = faultOf({ clusters: [{ name: 'lab', endpoints: ['https://x'], tokenId: 'ops@pve!banksman', token: '0b1c2d3e-secret' }] });
    expect(JSON.stringify([problemRows(fault), problemHeadline(fault), problemNotice(fault)])).not.toContain('0b1c2d3e');
  });
});

describe('a wrong configuration file', () => {
  const file = defaultConfigFile();
  const faultIn = (raw: unknown): Fault => {
    try {
      parseConfig(raw, file);
    } catch (thrown) {
      return toFault(thrown);
    }
    throw new Error('it was accepted');
  };

  it('is named, with its fields, and opened', () => {
    const fault = faultIn({ hooks: { shell: 'never' }, securityLevel: 'lax' });
    const rows = problemRows(fault);
    expect(rows.map((row) => row.label)).toEqual(['securityLevel', 'hooks.shell']);
    for (const row of rows) {
      expect(row).toMatchObject({ file, tooltip: expect.stringMatching(/\nSelect to open the file\.$/) });
      expect(row.tooltip.startsWith(`${file}\n\`${row.label}\`: `)).toBe(true);
      expect(row.tooltip).not.toContain('banksman.');
      expect(row.description).not.toContain(file);
    }
    expect(problemHeadline(fault)).toBe('config.json is wrong, so no tool runs.');
    expect(problemNotice(fault)).toContain(`until ${file} is right. \`securityLevel\`: `);
  });

  it('that is no JSON is named, too', () => {
    const fault = new Fault('bad_config', `${file}: not valid JSON: Unexpected end of JSON input`);
    expect(problemRows(fault)).toMatchObject([
      { label: 'config.json', description: 'not valid JSON: Unexpected end of JSON input', file, tooltip: expect.stringContaining(file) },
    ]);
  });
});

it('any other problem has one row with its remedy', () => {
  const fault = new Fault('store_locked', 'the store is locked', { next: 'close the other program' });
  expect(problemRows(fault)).toEqual([
    {
      label: 'Could not start',
      description: 'the store is locked',
      tooltip: 'the store is locked\nclose the other program\nSelect to try again.',
      // Not the settings: the fault is none of theirs.
      command: { command: 'banksman.reload', title: 'Try Again', arguments: [] },
    },
  ]);
  expect(problemHeadline(fault)).toContain('could not start');
  expect(problemNotice(fault)).toContain('the store is locked');
});
