import { describe, expect, it } from 'vitest';
import { durationWords, english } from '#kernel/text/message';
import { formatDuration, maxStringLength, sanitizeText, showPlainly, stripUnseen } from '#kernel/text/text';

describe('sanitizing a string argument', () => {
  it.each([
    ['NUL', 'a\u0000b', 'ab'],
    ['escape and bell', '\u001b[31mred\u0007', '[31mred'],
    ['carriage return', 'a\r\nb', 'a\nb'],
    ['vertical tab and form feed', 'a\u000b\u000cb', 'ab'],
    ['DEL and C1', 'a\u007f\u0080\u009b\u009fb', 'ab'],
    ['newline and tab', 'a\nb\tc', 'a\nb\tc'],
    ['white space around', ' \t\n a \n', 'a'],
  ])('%s', (_what, dirty, clean) => {
    expect(sanitizeText(dirty)).toBe(clean);
  });

  it('cuts to 10,000 characters, never through a character', () => {
    expect(maxStringLength).toBe(10_000);
    expect(sanitizeText('x'.repeat(10_000))).toHaveLength(10_000);
    expect(sanitizeText('x'.repeat(10_001))).toHaveLength(10_000);
    const cut = sanitizeText(`${'x'.repeat(9_999)}😀`);
    expect(cut).toHaveLength(10_000);
    expect(cut.isWellFormed()).toBe(true);
  });

  it('mends lone surrogates, and does not make a new character out of two of them', () => {
    expect(sanitizeText('a\ud800b')).toBe('a\ufffdb');
    expect(sanitizeText('\udb40\u0001\udc41')).toBe('\ufffd\ufffd');
  });
});

describe('showing text plainly', () => {
  it.each([
    ['newline and tab', 'a\nb\tc', 'a\\nb\\tc'],
    ['carriage return', 'a\rb', 'a\\u{d}b'],
    ['ANSI colour', '\u001b[31mx', '\\u{1b}[31mx'],
    ['C1 CSI', '\u009b31mx', '\\u{9b}31mx'],
    ['next line', 'a\u0085b', 'a\\u{85}b'],
    ['right-to-left override', 'a\u202eb', 'a\\u{202e}b'],
    ['bidi isolates', '\u2066a\u2069', '\\u{2066}a\\u{2069}'],
    ['zero-width space and joiner', 'a\u200b\u200db', 'a\\u{200b}\\u{200d}b'],
    ['soft hyphen', 'a\u00adb', 'a\\u{ad}b'],
    ['byte order mark', '\ufeffa', '\\u{feff}a'],
    ['line and paragraph separator', 'a\u2028b\u2029', 'a\\u{2028}b\\u{2029}'],
    ['tag characters', '\u{e0041}', '\\u{e0041}'],
    ['variation selector', 'a\ufe0f', 'a\\u{fe0f}'],
    ['Hangul filler', 'a\u3164', 'a\\u{3164}'],
    ['interlinear annotation', '\ufff9a\ufffb', '\\u{fff9}a\\u{fffb}'],
    ['ordinary letters of any script', 'Größe 名前 שלום 😀', 'Größe 名前 שלום 😀'],
  ])('%s', (_what, text, shown) => {
    expect(showPlainly(text)).toBe(shown);
  });

  it.each([
    ['blank cells', `a${'\u2800'.repeat(2)}b`, 'a\\u{2800}\\u{2800}b'],
    ['wide blanks', 'a\u3000b\u00a0c\u2003d', 'a\\u{3000}b\u00a0c\\u{2003}d'],
    ['rows of blanks', 'a\u00a0\u00a0b', 'a\u00a0\\u{a0}b'],
    ['marks that pile up', `a${'\u0301'.repeat(5)}b`, 'a\u0301\u0301\u0301\\u{301}\\u{301}b'],
    ['a mark with no letter of its own', '\u0301a', '\\u{301}a'],
    ['letters with two or three marks, as Vietnamese, Hebrew and Thai have them', 'ệ שָּׁ ที่', 'ệ שָּׁ ที่'.normalize()],
  ])('shows %s, which hide what stands beside them', (_what, text, shown) => {
    expect(showPlainly(text)).toBe(shown);
  });

  it('says how much was left out', () => {
    expect(showPlainly('x'.repeat(300))).toBe('x'.repeat(300));
    expect(showPlainly('x'.repeat(301))).toBe(`${'x'.repeat(300)}… (301 bytes in all)`);
    expect(showPlainly('😀😀', 1).isWellFormed()).toBe(true);
  });
});

describe('taking out what is not seen', () => {
  it.each([
    ['colours', 'a\u001b[1;31mb\u001b[0m', 'ab'],
    ['8-bit CSI', 'a\u009b31mb', 'ab'],
    ['cursor moves and erasing', 'a\u001b[2J\u001b[Hb', 'ab'],
    ['window title ended by BEL', '\u001b]0;title\u0007a', 'a'],
    ['hyperlink ended by ST', '\u001b]8;;http://evil/\u001b\\a\u001b]8;;\u001b\\', 'a'],
    ['DCS string', '\u001bPq#0\u001b\\a', 'a'],
    ['two-character escapes', 'a\u001bcb\u001b(Bc', 'abc'],
    ['a lone escape at the end', 'a\u001b', 'a'],
    ['zero-width and bidi', 'a\u200b\u202eb\u2069', 'ab'],
    ['tags that spell an order', 'a\u{e0072}\u{e006d}b', 'ab'],
    ['newlines and tabs stay', 'a\n\tb', 'a\n\tb'],
    ['accents and emoji stay', 'é😀', 'é😀'],
    ['8-bit strings with their text', 'a\u009d0;title\u009cb\u0090q#0\u0007c\u009fx\u001b\\d', 'abcd'],
    ['a string that never ends hides nothing', 'a\u001b]0;rm -rf b\nc', 'a0;rm -rf b\nc'],
    ['a string that ends on a later line hides no line', 'a\u001b]0;\nsecond\u0007', 'a0;\nsecond'],
    ['an over-long string stays to be seen', `\u001b]${'x'.repeat(5_000)}\u0007`, 'x'.repeat(5_000)],
    ['a sequence inside a string', '\u001b]0;a\u001b[31mb\u0007c', '0;abc'],
    ['a sequence with a line break inside', 'a\u001b[3\n1mb', 'a3\n1mb'],
    ['a sequence with thousands of parameters', `a\u001b[${'1;'.repeat(5_000)}mb`, 'ab'],
    ['private and intermediate bytes', 'a\u001b[?25lb\u001b[>4;2mc\u001b[0 qd', 'abcd'],
    ['an escape before an escape', 'a\u001b\u001b[31mb', 'ab'],
    ['an escape put together from two', 'a\u001b\u001b[m[31mb', 'a[31mb'],
    ['carriage returns end a line', '10%\r20%\r\n30%', '10%\n20%\n30%'],
    ['a carriage return hides no line', 'rm -rf /\rls', 'rm -rf /\nls'],
    ['other line ends', 'a\u0085b\u2028c\u2029d\u000be\u000cf', 'a\nb\nc\nd\ne\nf'],
    ['a backspace hides nothing', 'rm\b\bls', 'rmls'],
    ['bold as man prints it', 'N\bNA\bAM\bME\bE', 'NAME'],
    ['underlined as man prints it', '_\bf_\bi_\bl_\be', 'file'],
    ['bidi isolates and marks', 'a\u2066b\u2067c\u2068d\u2069e\u061cf\u200eg', 'abcdefg'],
    ['word joiner, invisible operators, Hangul filler', 'a\u2060b\u2063c\u3164d\uffa0e', 'abcde'],
    ['a joiner between emoji stays', '👩\u200d💻', '👩\u200d💻'],
    ['a family stays one', '👨\u200d👩\u200d👧\u200d👦', '👨\u200d👩\u200d👧\u200d👦'],
    ['a joiner behind a skin tone stays', '👩🏽\u200d🚀', '👩🏽\u200d🚀'],
    ['the red heart stays red', '❤\ufe0f\u200d🔥', '❤\ufe0f\u200d🔥'],
    ['a joiner between letters goes', 'a\u200db', 'ab'],
    ['a joiner behind one emoji goes', '😀\u200d', '😀'],
    ['variation selectors behind a letter go', 'a\ufe0f\ufe0eb', 'ab'],
    ['a row of variation selectors goes', '😀\ufe0f\ufe0f', '😀'],
    ['a message in variation selectors goes', '😀\u{e0101}\u{e0123}\u{e01ef}b', '😀b'],
    ['a message in tags goes, the flag stays', '🏴\u{e0067}\u{e0062}\u{e007f}', '🏴'],
    ['Persian keeps its non-joiner', 'می\u200cخواهم', 'می\u200cخواهم'],
    ['Devanagari keeps its joiner', 'क्\u200dष', 'क्\u200dष'],
    ['non-joiners in a row go', 'م\u200c\u200cخ', 'مخ'],
  ])('%s', (_what, text, clean) => {
    expect(stripUnseen(text)).toBe(clean);
  });

  it('does not put an invisible character together from two halves with something between them', () => {
    expect(stripUnseen('\udb40\u200b\udc41')).toBe('\ufffd\ufffd');
    expect(showPlainly('\udb40\u200b\udc41')).toBe('\ufffd\\u{200b}\ufffd');
  });
});

describe('a duration', () => {
  it.each([
    [-5, '0ms'],
    [0, '0ms'],
    [0.4, '0ms'],
    [1, '1ms'],
    [950, '950ms'],
    [999, '999ms'],
    [999.4, '999ms'],
    [999.5, '1.0s'],
    [1_000, '1.0s'],
    [2_500, '2.5s'],
    [59_949, '59.9s'],
    [59_950, '1m 0s'],
    [60_000, '1m 0s'],
    [89_499, '1m 29s'],
    [90_000, '1m 30s'],
    [119_499, '1m 59s'],
    [119_500, '2m 0s'],
    [3_600_000, '60m 0s'],
  ])('of %d ms is `%s`', (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });
});

describe('a remaining time in words', () => {
  it.each([
    [3_600_000, '1 hour'],
    [3_599_999, '1 hour'],
    [7_200_000, '2 hours'],
    [3_540_000, '59 minutes'],
    [60_000, '1 minute'],
    [59_000, '59 seconds'],
    [1000, '1 second'],
    [-5, '0 seconds'],
  ])('%d ms: %s', (ms, words) => {
    expect(english(durationWords(ms))).toBe(words);
  });
});
