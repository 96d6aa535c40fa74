/** The extension's MCP server, which the chat finds with nothing configured but one setting: its calls are everybody's calls. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ModelAnswer, ModelTurn } from '../../../scripts/bench/scripted-agent.ts';
import { ROOT } from '../../../scripts/lib/cache-folder.mjs';
import { cleanEnv } from '../../../scripts/lib/clean-env.mjs';
import { openApprovals, pressRowAction, waitRow } from '../harness/approvals-view.ts';
import { sendPrompt } from '../harness/chat.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { denyInModal, waitModal } from '../harness/modal.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;

/** “call NAME {arguments}” becomes a call of the agent's own tool of that name, or of the MCP server's, whatever the editor puts in front of it. */
function script({ tools, messages }: ModelTurn): ModelAnswer {
  const asked = messages.findLast(({ role }) => role === 'user');
  const [, name = '', input = '{}'] = /call ([a-z_]+) (\{.*\})/.exec(asked?.content ?? '') ?? [];
  const isIt = (tool: string) => tool === name || (tool.startsWith('mcp_') && tool.endsWith(`_${name}`));
  const tool = messages.at(-1)?.role === 'tool' ? undefined : tools.find((one) => isIt(one.name));
  return tool === undefined ? { text: 'done' } : { tool: tool.name, args: JSON.parse(input) as Record<string, unknown> };
}

const settings = { 'chat.tools.global.autoApprove': true, 'chat.mcp.autostart': 'newAndOutdated' };

beforeAll(async () => {
  bench = await launchWorkbench({
    script,
    settings,
    machineSettings: { 'banksman.mcpServer': true, 'banksman.approvalWait': { mcp: 60_000 } },
  });
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-other-ways-${task.id}`);
});
afterAll(() => bench?.close());

async function trail(): Promise<readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[]> {
  const env = cleanEnv({ XDG_CONFIG_HOME: bench.configDir, XDG_STATE_HOME: bench.stateDir });
  const words = [
    path.join(ROOT, 'dist', 'cli.cjs'),
    'audit',
    'tail',
    '--count',
    '1000',
    '--json',
    '--config',
    JSON.stringify(bench.demo.config),
  ];
  const { stdout } = await promisify(execFile)(process.execPath, words, { env });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { name: string; attributes: Record<string, unknown> });
}

function offered(): readonly string[] {
  const turn = bench.model.requests.findLast(({ tools }) => tools.length > 0);
  return turn?.tools.map(({ name }) => name).filter((name) => name.startsWith('mcp_')) ?? [];
}

/** Asks the model for one call of a tool; resolves with what the tool answered. */
async function call(name: string, input: object): Promise<string> {
  const count = toolResults(bench.model).length + 1;
  await sendPrompt(bench.page, `call ${name} ${JSON.stringify(input)}`);
  return waitForToolResult(bench.model, count);
}

describe('the MCP server that the extension offers', () => {
  // The chat leaves some of them out, for with the extension's own there are more tools than it puts before a model: why this is off by itself.
  it('is started by the editor, and its tools are before the model', async () => {
    await waitUntil(
      'the tools of the server',
      async () => {
        const before = bench.model.requests.length;
        await sendPrompt(bench.page, 'hello');
        await waitUntil('an answer', () => bench.model.requests.slice(before).find(({ tools }) => tools.length > 0));
        return offered().find((name) => name.endsWith('_get_cluster_status'));
      },
      120_000,
    );
    await screenshot(bench.page, 's1-server-tools');
    expect(offered().some((name) => name.startsWith('mcp_banksman_'))).toBe(true);
  });

  it('answers reads with this window’s clusters', async () => {
    const answered = call('get_cluster_status', {});
    // The editor's own question, once: in this window its other questions shall not stand in the way.
    await (await waitModal(bench.page, 'Enable global auto approve?')).click('Enable');
    expect(await answered).toMatch(/"name":"agent1"|"node":"agent1"/);
  });

  it('asks the same person in the same place, and stands in the same trail', async () => {
    await openApprovals(bench.page);
    const answered = call('create_snapshot', { vmid: 100, name: 'before' });
    await waitRow(bench.page, 'Take snapshot');
    await screenshot(bench.page, 's2-asked');
    await pressRowAction(bench.page, 'Take snapshot', 'Review');
    await denyInModal(bench.page, await waitModal(bench.page, 'Take snapshot'));
    expect(await answered).toContain('denied_by_person');
    const records = await trail();
    expect(records.some(({ name }) => name === 'approval.denied')).toBe(true);
    const ended = records.findLast(({ attributes }) => attributes['gen_ai.tool.name'] === 'create_snapshot');
    expect(ended?.attributes['agent']).toMatchObject({ host: 'mcp', label: expect.stringMatching(/^code-server \d/) });
  });
});
