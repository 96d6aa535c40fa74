import { describe, expect, it } from 'vitest';
import { nodeLimitSeconds, wasTimedOut, wrapCommand } from '#connectors/ssh/remote-command';

describe('nodeLimitSeconds', () => {
  it.each([
    [30_000, 27],
    [29_700, 27],
    [29_000, 26],
    [10_000, 7],
    [4_000, 1],
    [3_000, 1],
    [500, 1],
    [-5, 1],
  ])('of %d ms left: %d s', (left, seconds) => {
    expect(nodeLimitSeconds(left)).toBe(seconds);
  });
});

describe('wrapCommand', () => {
  it('is one shell command under `timeout`, in English, without input', () => {
    expect(wrapCommand('df -h', 27)).toBe("LC_ALL=C timeout -k 2 27 sh -c 'df -h' </dev/null");
  });

  it('does not let a command out of its quotes', () => {
    expect(wrapCommand("'; reboot #", 1)).toBe(String.raw`LC_ALL=C timeout -k 2 1 sh -c ''\''; reboot #' </dev/null`);
  });
});

describe('wasTimedOut', () => {
  it.each([
    [124, 27_000, true],
    [137, 29_100, true],
    [124, 26_950, true],
    [124, 26_000, false],
    [137, 10, false],
    [0, 28_000, false],
    [1, 28_000, false],
    [undefined, 28_000, false],
  ])('exit code %s after %d ms of 27 s: %s', (code, elapsed, expected) => {
    expect(wasTimedOut(code, elapsed, 27)).toBe(expected);
  });
});
