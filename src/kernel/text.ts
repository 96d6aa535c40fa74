/** Text from outside, made harmless, and text for people. */

/** The longest string argument a tool takes, in UTF-16 code units (seed 000, sanitizeInput). */
export const maxStringLength = 10_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: stripping control characters is the purpose
const controlExceptNewlineAndTab = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * Characters that show nothing or reorder what is shown: zero-width, bidi controls, variation selectors, tag characters and other
 * default-ignorables (Unicode `Default_Ignorable_Code_Point`, `Bidi_Control`), line and paragraph separators, interlinear annotations.
 */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb]/gu;

/** The seeds' sanitizing of a string argument: control characters except newline and tab stripped, trimmed, cut to 10,000. */
export function sanitizeText(text: string): string {
  return text.toWellFormed().replace(controlExceptNewlineAndTab, '').trim().slice(0, maxStringLength).toWellFormed();
}

/** For dialogs, trees and log lines: one line, nothing hidden, nothing that reorders; what was there is shown as `\u{…}`. */
export function showPlainly(text: string, maxLength = 300): string {
  const visible = text
    .toWellFormed()
    .replace(controlExceptNewlineAndTab, escapeCodePoint)
    .replace(invisible, escapeCodePoint)
    .replace(/[\n\t]/g, (char) => (char === '\n' ? '\\n' : '\\t'));
  if (visible.length <= maxLength) return visible;
  return `${visible.slice(0, maxLength).toWellFormed()}… (${Buffer.byteLength(text)} bytes in all)`;
}

/** Outside text for a model: ANSI escapes, control and invisible characters removed, newlines and tabs kept. */
export function stripUnseen(text: string): string {
  // SECURITY: well-formed first. Two lone surrogates around a character that is taken out would join into a new, invisible one.
  return text.toWellFormed().replace(ansiEscape, '').replace(controlExceptNewlineAndTab, '').replace(invisible, '');
}

// ECMA-48 §5.4 control sequences, OSC/DCS/APC/PM strings up to their terminator, and two-character escapes.
// biome-ignore lint/suspicious/noControlCharactersInRegex: matching escape sequences is the purpose
const ansiEscape = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b(?:[\]PX^_][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|[ -/]*[0-~])?/g;

function escapeCodePoint(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A duration in the seeds' three forms: `950ms`, `2.5s`, `1m 30s`. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < 1000) return `${ms}ms`;
  // 59,950 ms and more would round to `60.0s`.
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

/** A remaining time for people, rounded to the unit that matters: `1 hour`, `59 minutes`, `45 seconds`. */
export function durationInWords(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return counted(seconds, 'second');
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? counted(minutes, 'minute') : counted(Math.round(minutes / 60), 'hour');
}

function counted(number: number, unit: string): string {
  return `${number} ${unit}${number === 1 ? '' : 's'}`;
}
