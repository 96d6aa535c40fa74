import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { patternFault, ripgrepCandidates } from '#connectors/ripgrep/search-with-ripgrep';

describe('what ripgrep says of a pattern', () => {
  it.each([
    ['rg: regex parse error:\n    (?:a()\n       ^\nerror: unclosed group\n', 'unclosed group (at character 1)'],
    ['regex parse error:\n    ab(\n      ^\nerror: unclosed group\n', 'unclosed group (at character 3)'],
    [
      'rg: regex parse error:\n    (?:x(?=a))\n        ^^^\nerror: look-around, including look-ahead and look-behind, is not supported\n\nConsider enabling PCRE2',
      'look-around, including look-ahead and look-behind, is not supported (at character 2)',
    ],
    ['rg: the literal "\\n" is not allowed in a regex\n\nConsider enabling multiline mode', 'the literal "\\n" is not allowed in a regex'],
    ['rg: compiled regex exceeds size limit of 1048576\n', 'compiled regex exceeds size limit of 1048576'],
    ['Compiled regex exceeds size limit of 1048576 bytes.\n', 'Compiled regex exceeds size limit of 1048576 bytes'],
    ["rg: error parsing glob '[': unclosed character class", "error parsing glob '[': unclosed character class"],
  ])('%j', (stderr, expected) =>
    expect(patternFault(stderr)).toMatchObject({ code: 'BAD_PATTERN', message: `the pattern is not understood: ${expected}` }),
  );

  it('is nothing where it is about something else', () => {
    expect(patternFault('rg: ./x: Permission denied (os error 13)\n')).toBeUndefined();
    expect(patternFault('')).toBeUndefined();
  });
});

describe('where ripgrep is looked for', () => {
  it('in order: what was set, the editor’s own, the PATH; never a relative directory', () => {
    const found = ripgrepCandidates({
      configured: '/opt/rg',
      editorRoot: '/app',
      searchPath: ['/usr/bin', '', '.', 'bin'].join(path.delimiter),
    });
    expect(found[0]).toBe('/opt/rg');
    expect(found).toContain(`/app/node_modules/@vscode/ripgrep-universal/bin/${process.platform}-${process.arch}/rg`);
    expect(found).toContain('/app/node_modules.asar.unpacked/@vscode/ripgrep/bin/rg');
    expect(found.at(-1)).toBe('/usr/bin/rg');
    expect(found.every((candidate) => path.isAbsolute(candidate))).toBe(true);
    expect(ripgrepCandidates({})).toEqual([]);
  });
});
