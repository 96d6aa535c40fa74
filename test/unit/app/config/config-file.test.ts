import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addApprover, createApproverReader, loadConfigFile, parseJson, readApprovers } from '#app/config/config-file';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'banksman-config-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}
const key = (letter: string) => ({ name: `user:${letter}`, key: `ed25519:${letter.repeat(43)}` });

describe('a configuration file', () => {
  it('may be missing only where that is said', async () => {
    const file = join(folder(), 'none.json');
    expect(await loadConfigFile(file, true)).toMatchObject({ securityLevel: 'balanced' });
    await expect(loadConfigFile(file, false)).rejects.toMatchObject({ code: 'bad_config', message: expect.stringContaining(file) });
    expect(await readApprovers(file)).toEqual([]);
  });

  it('may start with a byte order mark', async () => {
    const file = join(folder(), 'c.json');
    writeFileSync(file, '\ufeff{"securityLevel":"strict"}');
    expect(await loadConfigFile(file, false)).toMatchObject({ securityLevel: 'strict' });
  });

  it.each([
    ['[]', /must hold a JSON object/],
    ['"x"', /must hold a JSON object/],
    ['', /not valid JSON/],
    ['{"a":}', /not valid JSON/],
    ['{"securityLevel":"x"}', /`securityLevel`/],
  ])('holding `%s` is refused', async (text, message) => {
    const file = join(folder(), 'c.json');
    writeFileSync(file, text);
    await expect(loadConfigFile(file, true)).rejects.toMatchObject({ code: 'bad_config', message: expect.stringMatching(message) });
  });

  it('that is a folder is refused, even where it may be missing', async () => {
    await expect(loadConfigFile(folder(), true)).rejects.toMatchObject({ code: 'bad_config' });
  });
});

describe('the keys for every call', () => {
  const holding = (...letters: readonly string[]) => JSON.stringify({ approvers: letters.map(key) });

  it('are those in the file at that moment, even where a change leaves its length and its times as they were', () => {
    const file = join(folder(), 'c.json');
    const reader = createApproverReader(file);
    const read = () => reader().approvers;
    const then = new Date(1_000_000);
    const write = (text: string) => {
      writeFileSync(file, text);
      utimesSync(file, then, then);
    };
    expect(read()).toEqual([]);
    write(holding('A'));
    expect(read()).toEqual([key('A')]);
    write(holding('B'));
    expect(read()).toEqual([key('B')]);
    expect(read()).toEqual([key('B')]);
    rmSync(file);
    expect(read()).toEqual([]);
  });

  it('are none that were known before where the file cannot be understood any more', () => {
    const file = join(folder(), 'c.json');
    const reader = createApproverReader(file);
    const read = () => reader().approvers;
    writeFileSync(file, `\ufeff${holding('A')}`);
    expect(read()).toEqual([key('A')]);
    for (const broken of ['{', '[]', '']) {
      writeFileSync(file, broken);
      expect(read).toThrow(expect.objectContaining({ code: 'bad_config' }));
      expect(read).toThrow(expect.objectContaining({ code: 'bad_config' }));
    }
    writeFileSync(file, holding('A'));
    expect(read()).toEqual([key('A')]);
  });
});

describe('broken JSON', () => {
  it.each(['{"token": SECRETSECRET}', '{"token": "SECRET" "x"}', '{"x": "SECRET', 'SECRET', '{"SECRET": \'x\'}'])(
    '%s is not quoted back',
    (text) => {
      expect(() => parseJson(text, '--input')).toThrow(
        expect.objectContaining({ code: 'bad_config', message: expect.stringMatching(/^--input: not valid JSON: \w/) }),
      );
      expect(() => parseJson(text, '--input')).toThrow(expect.objectContaining({ message: expect.not.stringContaining('SECRET') }));
    },
  );
});

describe('pinning an approver', () => {
  it.each([
    [0o666, 0o644],
    [0o640, 0o640],
    [0o600, 0o600],
  ])('leaves everything else as it was, and who may read the file (%o), which nobody else writes', async (before, after) => {
    const file = join(folder(), 'sub', 'config.json');
    mkdirSync(join(file, '..'));
    writeFileSync(file, JSON.stringify({ securityLevel: 'strict', protected: { guests: [103] } }));
    chmodSync(file, before);
    await addApprover(file, key('A'));
    await addApprover(file, key('B'));
    await addApprover(file, { ...key('A'), name: 'again' });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      securityLevel: 'strict',
      protected: { guests: [103] },
      approvers: [key('A'), key('B')],
    });
    expect(statSync(file).mode & 0o777).toBe(after);
    expect(readdirSync(join(file, '..'))).toEqual(['config.json']);
    expect(await readApprovers(file)).toEqual([key('A'), key('B')]);
  });

  it('makes the file and its folder where there is none', async () => {
    const file = join(folder(), 'a', 'b', 'config.json');
    await addApprover(file, key('A'));
    expect(await readApprovers(file)).toEqual([key('A')]);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
  });

  it('does not touch a file it cannot read, and writes no key that is none', async () => {
    const file = join(folder(), 'config.json');
    writeFileSync(file, '{"securityLevel":"x"}');
    await expect(addApprover(file, key('A'))).rejects.toMatchObject({ code: 'bad_config' });
    expect(readFileSync(file, 'utf8')).toBe('{"securityLevel":"x"}');
    const fresh = join(folder(), 'config.json');
    await expect(addApprover(fresh, { name: 'x', key: 'nonsense' })).rejects.toMatchObject({ code: 'bad_config' });
    expect(existsSync(fresh)).toBe(false);
  });

  it('says so when it cannot write, and leaves nothing behind', async () => {
    const parent = folder();
    writeFileSync(join(parent, 'file'), '');
    await expect(addApprover(join(parent, 'file', 'config.json'), key('A'))).rejects.toThrow(/config\.json|ENOTDIR|EEXIST/);
    const target = join(parent, 'config.json');
    mkdirSync(target);
    await expect(addApprover(target, key('A'))).rejects.toMatchObject({ code: 'bad_config' });
    expect(readdirSync(parent).toSorted()).toEqual(['config.json', 'file']);
  });
});
