/** What a person does in one window, part by part: each leaves it so that the next can begin, and the last cuts the trail off. */
import { afterAll, afterEach, beforeAll } from 'vitest';
import { screenshot } from '../../harness/screenshot.ts';
import { answerMcpClients } from './mcp.ts';
import { offerMoreTools } from './more-tools.ts';
import { seeThePolicy } from './policy.ts';
import { tellOfACutTrail } from './trail.ts';
import { undoRuns } from './undo-run.ts';
import { seeUnknownOutcomes } from './unknown-outcome.ts';
import { bench, openTheWindow } from './window.ts';

beforeAll(openTheWindow);
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-one-window-${task.id}`);
});
afterAll(() => bench?.close());

undoRuns();
answerMcpClients();
offerMoreTools();
seeUnknownOutcomes();
seeThePolicy();
tellOfACutTrail();
