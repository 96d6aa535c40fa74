import * as fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { entryIn, withEntry } from '#app/clients/edit-entry';
import { mcpClients, type Place, serverName } from '#app/clients/mcp-clients';

const json: Place = { format: 'json', key: 'mcpServers' };
const toml: Place = { format: 'toml', key: 'mcp_servers' };
const entry = { command: '/usr/bin/node', args: ["/home/o'neil/my ext/cli.cjs", 'mcp'] };

const withComments = `// mine
{
    "theme": "dark", // never light
    "mcpServers": {
        "other": { "command": "x", "args": [] }, /* keep */
    },
}
`;
const withTables = `# mine
model = "o9"

[mcp_servers.other] # keep
command = "x"
note = "[mcp_servers.banksman]"
since = 2026-11-26

[mcp_servers.other.env]
B = "1"

[[profiles]]
name = "last"
`;

describe('an entry put in and taken out', () => {
  it.each<[string, Place, string]>([
    ['comments, trailing commas', json, withComments],
    ['Windows line ends', json, withComments.replaceAll('\n', '\r\n')],
    ['a byte order mark', json, `\ufeff${withComments}`],
    ['tabs', json, '{\n\t"a": [1,\n\t\t2],\n\t"mcpServers": {\n\t\t"other": {}\n\t}\n}'],
    ['no servers yet', json, '{\n  "a": 1\n}\n'],
    ['one line', json, '{"mcpServers":{"other":{"command":"x"}}}'],
    ['an empty object', json, '{}\n'],
    ['TOML', toml, withTables],
    ['TOML with Windows line ends', toml, withTables.replaceAll('\n', '\r\n')],
    ['TOML, empty', toml, ''],
  ])('%s: every other byte stays', (_what, place, text) => {
    const added = withEntry(text, place, 'banksman', entry);
    expect(entryIn(added, place, 'banksman')).toEqual(entry);
    expect(entryIn(added, place, 'other')).toEqual(entryIn(text, place, 'other'));
    for (const comment of ['// mine', '// never light', '/* keep */', '# mine', '# keep'])
      expect(added.includes(comment)).toBe(text.includes(comment));
    expect(added.includes('\r\n')).toBe(text.includes('\r\n'));
    expect(new Set(added.match(/\r?\n/g)).size).toBe(1);
    const removed = withEntry(added, place, 'banksman', undefined);
    expect(entryIn(removed, place, 'banksman')).toBeUndefined();
    expect(removed.replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
  });

  it('one that is there is changed, and only it', () => {
    for (const [place, text] of [
      [json, withComments],
      [toml, withTables],
    ] as const) {
      const old = withEntry(text, place, 'banksman', { command: 'old', args: [] });
      const changed = withEntry(old, place, 'banksman', entry);
      expect(entryIn(changed, place, 'banksman')).toEqual(entry);
      expect(changed).not.toContain('"old"');
      expect(withEntry(changed, place, 'banksman', entry).trimEnd()).toBe(changed.trimEnd());
    }
  });

  it.each<[string, Place, string, string]>([
    ['broken JSON', json, '{\n  "a": 1,\n  b\n}', 'line 3'],
    ['an array', json, '[]', 'no object'],
    ['servers that are no object', json, '{"mcpServers":[]}', '`mcpServers` is no object'],
    ['a key that stands twice', json, '{"mcpServers":{},"mcpServers":{"other":{}}}', 'not what was in it'],
    ['broken TOML', toml, '[mcp_servers\n', 'Invalid TOML'],
    ['servers in one line', toml, 'mcp_servers = { other = { command = "x" } }\n', 'Invalid TOML'],
    ['a text that looks like a table', toml, 'a = """\n[mcp_servers.banksman]\n"""\n', 'not'],
  ])('%s is refused and said', (_what, place, text, words) => {
    expect(() => withEntry(text, place, 'banksman', entry)).toThrow(words);
  });

  it('whatever else is in a file stays what it was', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.dictionary(fc.string({ minLength: 1 }), fc.object()), (rest, servers) => {
        const content: unknown = JSON.parse(JSON.stringify({ ...rest, mcpServers: servers }));
        fc.pre(!JSON.stringify(content).includes('__proto__'));
        const added = withEntry(JSON.stringify(content, null, 3), json, 'banksman', entry);
        expect(parse(added)).toEqual({
          ...(content as object),
          mcpServers: { ...(content as { mcpServers: object }).mcpServers, banksman: entry },
        });
      }),
    );
  });
});

describe('the table of clients', () => {
  it('names each once, with a file of its own for each user', () => {
    const home = { home: '/home/a', settings: '/home/a/settings', xdg: '/home/a/.config' };
    const files = mcpClients.map(({ user }) => user(home));
    expect(new Set(files).size).toBe(mcpClients.length);
    expect(files.filter((file) => !file.startsWith('/home/a/'))).toEqual([]);
    expect(new Set(mcpClients.map(({ id }) => id)).size).toBe(mcpClients.length);
  });

  it.each(mcpClients.map((client) => [client.id, client] as const))(
    '%s can be put into an empty file, twice to the same',
    (_id, client) => {
      const once = withEntry('', client.place, serverName, client.entry(entry));
      expect(entryIn(once, client.place, serverName)).toEqual(client.entry(entry));
      expect(withEntry(once, client.place, serverName, client.entry(entry))).toBe(once);
    },
  );
});
