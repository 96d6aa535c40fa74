import { expect, it } from 'vitest';
import { createBench } from './support/bench.ts';
import { createProbe } from './support/probe-tool.ts';

it('what a handler says on the way is redacted, too', async () => {
  const said: string[] = [];
  const probe = createProbe({}, (_input, context) => {
    context.progress('using 3f0c1a9e-77aa-4b0d and password=Tr0ub4dor-9');
    return { ok: true, message: 'done', result: null };
  });
  const { call } = await createBench({ tools: [probe.tool], deps: { knownSecrets: () => ['3f0c1a9e-77aa-4b0d'] } });
  await call('probe_tool', {}, { onProgress: (line) => void said.push(line) });
  expect(said).toEqual(['using [redacted:known] and password=[redacted:password]']);
});
