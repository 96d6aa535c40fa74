/** Text from outside, made harmless, and text for people. */

/** The longest string argument a tool takes, in UTF-16 code units (docs/design.md#requests-and-grants). */
export const maxStringLength = 10_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: stripping control characters is the purpose
const controlExceptNewlineAndTab = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * Characters that show nothing or reorder what is shown: zero-width, bidi controls, variation selectors, tag characters and other
 * default-ignorables (Unicode `Default_Ignorable_Code_Point`, `Bidi_Control`), line and paragraph separators, interlinear annotations.
 */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb]/gu;

/**
 * Blank cells, wide blanks and rows of them, which push what follows out of sight; marks beyond the three that scripts pile on a letter,
 * which paint over the lines above and below, and one with no letter of its own.
 */
const hiding = /\u2800|(?![ \u00a0\u202f])\p{Zs}|(?<=\p{Zs})[\u00a0\u202f]|(?<=\p{M}{3})\p{M}|^\p{M}/gu;

/** The names of a table, written with blanks or line breaks between. */
export function splitNames(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** The sanitizing of a string argument: control characters except newline and tab stripped, trimmed, cut to 10,000. */
export function sanitizeText(text: string): string {
  return text.toWellFormed().replace(controlExceptNewlineAndTab, '').trim().slice(0, maxStringLength).toWellFormed();
}

/** For dialogs, trees and log lines: one line, nothing hidden, nothing that hides or reorders; what was there is shown as `\u{…}`. */
export function showPlainly(text: string, maxLength = 300): string {
  // Nearly all there is: then there is nothing to replace.
  if (text.length <= maxLength && !/[^\u0020-\u007e]/.test(text)) return text;
  const visible = text
    .toWellFormed()
    .replace(controlExceptNewlineAndTab, escapeCodePoint)
    .replace(invisible, escapeCodePoint)
    .replace(hiding, escapeCodePoint)
    .replace(/[\n\t]/g, (char) => (char === '\n' ? '\\n' : '\\t'));
  if (visible.length <= maxLength) return visible;
  return `${visible.slice(0, maxLength).toWellFormed()}… (${Buffer.byteLength(text)} bytes in all)`;
}

/**
 * Outside text for a model: ANSI escapes, control and invisible characters removed, newlines and tabs kept. What a terminal would overwrite
 * (carriage return, backspace) stays to be seen. Joiners stay where emoji and the scripts that need them are written with them.
 */
export function stripUnseen(text: string): string {
  // Nearly all there is; the rest costs twenty times as much.
  if (!/[^\t\n\u0020-\u007e]/.test(text)) return text;
  // SECURITY: well-formed first. Two lone surrogates around a character that is taken out would join into a new, invisible one.
  return text
    .toWellFormed()
    .replace(ansiEscape, '')
    .replace(otherLineEnd, '\n')
    .replace(overstrike, '')
    .replace(controlExceptNewlineAndTab, '')
    .replace(unseen, '$1');
}

/**
 * ECMA-48 §5.4 control sequences; OSC, DCS, SOS, PM and APC strings, in both their 7-bit and 8-bit forms, up to a terminator on the same line;
 * other escapes. SECURITY: one that does not end loses its first characters only, or it would hide what follows from the model.
 */
const ansiEscape =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matching escape sequences is the purpose
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090-\u009f\n]{0,4096}(?:\u0007|\u001b\\|\u009c)|\u001b(?:[ -/]*[0-~])?/g;

/** A lone carriage return shows the next text over the last; glued together both would be one word. With NEL, VT, FF, LS, PS (UAX #14, BK). */
const otherLineEnd = /\r\n?|[\u0085\v\f\u2028\u2029]/g;

/** Bold and underlined, as `man` prints them for a typewriter: a letter over itself or over `_`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the backspace is what makes it one
const overstrike = /_\u0008(?=[^\u0008\n])|([^\u0008\n])\u0008(?=\1)/g;

/** Scripts in which a joiner or non-joiner between two letters is spelling (UAX #31, §2.3). */
const joining =
  '[\\p{scx=Arab}\\p{scx=Syrc}\\p{scx=Deva}\\p{scx=Beng}\\p{scx=Guru}\\p{scx=Gujr}\\p{scx=Orya}\\p{scx=Taml}\\p{scx=Telu}\\p{scx=Knda}\\p{scx=Mlym}\\p{scx=Sinh}\\p{scx=Khmr}\\p{scx=Mymr}]';
const pictograph = '\\p{Extended_Pictographic}';

/** Group 1: what stays. A joiner between two emoji, one variation selector behind one, a joiner between two letters. */
const unseen = new RegExp(
  `((?<=${pictograph}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?)\\u200d(?=${pictograph})|(?<=${pictograph})[\\ufe0e\\ufe0f](?![\\ufe0e\\ufe0f])|(?<=${joining})[\\u200c\\u200d](?=${joining}))|${invisible.source}`,
  'gu',
);

function escapeCodePoint(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A duration in three forms: `950ms`, `2.5s`, `1m 30s`. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < 1000) return `${ms}ms`;
  // 59,950 ms and more would round to `60.0s`.
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

/** `14:02:10` in the time zone of this machine, with the day where it is not today: `Nov 21, 14:02:10`. Both in ms since the epoch. */
export function clockTime(at: number, now: number, language = 'en'): string {
  const time = new Date(at);
  const clock = time.toTimeString().slice(0, 8);
  if (time.toDateString() === new Date(now).toDateString()) return clock;
  return `${time.toLocaleDateString(language, { month: 'short', day: 'numeric' })}, ${clock}`;
}
