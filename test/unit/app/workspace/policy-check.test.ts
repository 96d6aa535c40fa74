import { expect, it } from 'vitest';
import { createPolicyCheck } from '#app/workspace/policy-check';
import type { ViewStatus } from '#kernel/ports/command-runner';

it.each<[string, ViewStatus | undefined]>([
  ['allowed', { judged: true }],
  ['no_view', { judged: false, reason: 'no user namespaces', better: 'x' }],
  ['no_view', undefined],
])('a command is judged by the view that it would run over: %s', (code, view) => {
  const check = createPolicyCheck(import.meta.dirname, { view });
  const decisionOn = (surface: string) => check.decide({ id: '1', surface, input: 'npm test' }).decision;
  expect([decisionOn('workspace_command').code, decisionOn('readonly_bash').code]).toEqual([code, code]);
});
