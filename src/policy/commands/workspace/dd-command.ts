/** `dd if=A of=B`: its words are operands of their own, and a source that never ends needs an end. */
import type { Decision } from '#kernel/decision';
import type { Invocation } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { isEndlessDevice } from './machine-facts.ts';
import { single } from './shell-word.ts';

/** 1 GiB. */
const most = 2 ** 30;
const units: Readonly<Record<string, number>> = {
  '': 1,
  c: 1,
  w: 2,
  b: 512,
  k: 2 ** 10,
  K: 2 ** 10,
  kB: 1e3,
  M: 2 ** 20,
  MB: 1e6,
  G: 2 ** 30,
  GB: 1e9,
};

/** The files that it copies. */
export function judgeCopiedFiles({ args, scope }: Invocation): readonly Decision[] {
  const isBounded = amount(args.map((word) => single(word) ?? '')) <= most;
  return args.flatMap((word) => {
    const [, operand, text = ''] = /^(if|of)=(.*)$/s.exec(single(word) ?? '') ?? [];
    if (operand === undefined || (operand === 'if' && isBounded && isEndlessDevice(text))) return [];
    return judgePath({ text, glob: word.glob, offset: word.offset }, operand === 'if' ? 'read' : 'write', scope);
  });
}

/** How many bytes it copies at most; without a count, all. */
function amount(texts: readonly string[]): number {
  const value = (names: RegExp) => {
    const [, number, unit = ''] = texts.map((text) => names.exec(text)).find((match) => match !== null) ?? [];
    return number === undefined ? undefined : Number(number) * (units[unit] ?? Number.POSITIVE_INFINITY);
  };
  return (value(/^i?bs=(\d{1,9})([a-zA-Z]*)$/) ?? 512) * (value(/^count=(\d{1,9})([a-zA-Z]*)$/) ?? Number.POSITIVE_INFINITY);
}
