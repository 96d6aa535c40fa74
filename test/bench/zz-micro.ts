import { redactText } from '#redaction/redact';
import { redactOutcome } from '#pipeline/redact-outcome';
import { presentOutcome } from '#pipeline/present-outcome';
import { readFile } from '#tools/workspace/read-file';
import { pairText } from "#redaction/hint-pairs";
import { stripUnseen } from '#kernel/text';
import { createPathFacts } from '#connectors/workspace-files/path-facts';
import { canonicalJson } from '#kernel/json';
const text = `1\t${'four-kb '.repeat(512)}`;
const src = (await import('node:fs')).readFileSync('/work/main/src/pipeline/record.ts', 'utf8').slice(0, 4096);
const o = { knownSecrets: [], maxStringLength: 64000 };
const agent = { id: 'mcp:x', host: 'mcp', modelTier: 'advanced' } as const;
const outcome = { status: 'ok', code: 'ok', message: 'four-kb.txt: line 1 of 1', result: { path: 'four-kb.txt', content: text, start_line: 1, end_line: 1, total_lines: 1, bytes: 4096, encoding: 'utf-8' } } as const;
const jobs: Record<string, () => unknown> = {
  strip: () => stripUnseen(text),
  redact: () => redactText(text, o),
  'redact src': () => redactText(src, o),
  secretlint: () => pairText(text),
  redactOutcome: () => redactOutcome(outcome, o),
  present: () => presentOutcome(outcome, readFile as never, agent),
  stringify: () => JSON.stringify(outcome),
  canonical: () => canonicalJson(outcome as never),
  parse: () => readFile.input.safeParse({ path: 'x' }),
  facts: () => createPathFacts('/work/main').look(['package.json']),
};
for (const [name, job] of Object.entries(jobs)) {
  const t: number[] = [];
  for (let i = 0; i < 5000; i += 1) { const b = process.hrtime.bigint(); job(); t.push(Number(process.hrtime.bigint() - b) / 1000); }
  const med = (a: number[]) => a.toSorted((x, y) => x - y)[a.length >> 1]!;
  console.log(name.padEnd(14), 'first300', med(t.slice(5, 305)).toFixed(1), 'late', med(t.slice(-1000)).toFixed(1));
}
